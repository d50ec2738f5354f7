#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace adj::test {

/// Files of a folder, to be modified by tests. Eight nodes; node 3 has no target, node 7 is in no part.
inline std::map<std::string, std::string> city() {
  return {
      {"info.yaml",
       "dataset_name: city\ntask: multiclass_classification\ntarget_name: kind\n"
       "numerical_features_names: [b, a, share]\nfraction_features_names:\n  - share\n"
       "categorical_features_names: [c, two]\nnote: what is not known is not read\n"},
      {"features.csv",
       "node_id,a,b,share,c,two,unused\n0,3,1,0.5,7,4,x\n1,1,2,,-1,5,x\n2,1,3,0.25,7,4,\"x,y\"\n3,,4,0.25,3,"
       "4,x\n"
       "4,10,5,1,7.0,4,x\n5,2,6,0,3,4,x\n6,1,7,0.25,7,5,x\n7,4.5,8,0.75,7,4,x\n"},
      {"targets.csv", "node_id,kind\n0,2\n1,0.0\n2,1\n3,\n4,0\n5,1\n6,0\n7,2\n"},
      {"split_masks_RL.csv",
       "node_id,train,val,test\n0,True,False,False\n1,False,True,False\n2,False,False,True\n"
       "3,True,False,False\n4,False,True,False\n5,False,False,True\n6,True,False,False\n7,False,False,"
       "False\n"},
      {"split_masks_TH.csv",
       "node_id,train,val,test\n0,1,0,0\n1,0,1,0\n2,0,0,1\n3,1,0,0\n4,0,1,0\n5,0,0,1\n6,1,0,0\n7,0,0,0\n"},
      {"edgelist.csv", "source,target\n0,3\n3,0\n0,3\n6,3\n1,6\n2,2\n5,7\n4,5\n"}};
}

}  // namespace adj::test
