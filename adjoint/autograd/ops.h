#pragma once

// Every differentiable op.
#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/dropout.h>
#include <adjoint/autograd/gather.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/loss.h>
#include <adjoint/autograd/norm.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/spmm.h>
