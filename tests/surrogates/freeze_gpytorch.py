"""Print the reference numbers of ``exact/test_gp``; needs GPyTorch."""

from __future__ import annotations

import gpytorch
import numpy as np
import torch
from gpytorch.kernels import ConstantKernel, MaternKernel, PolynomialKernel, ScaleKernel
from tests.surrogates.gaussian_process.test_posterior_of_values import LENGTHSCALES, NEW, NOISE, SCALE, TREND, X, Y


class Model(gpytorch.models.ExactGP):
    def __init__(self, quadratic: bool, likelihood: gpytorch.likelihoods.GaussianLikelihood) -> None:
        super().__init__(torch.tensor(X), torch.tensor(Y), likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        matern, constant = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=2)), ConstantKernel()
        matern.base_kernel.lengthscale, matern.outputscale = torch.tensor([LENGTHSCALES]), SCALE
        constant.constant = torch.tensor([1.0])
        self.covar_module = matern + constant
        if quadratic:  # b (x.y / rho + 1)^2 = b / rho^2 (x.y + rho)^2
            rho = 0.25 * 2
            trend = ScaleKernel(PolynomialKernel(power=2))
            trend.base_kernel.offset, trend.outputscale = rho, TREND / rho**2
            self.covar_module = self.covar_module + trend

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def main() -> None:
    torch.set_default_dtype(torch.float64)
    print("# GPyTorch", gpytorch.__version__)
    for quadratic in (False, True):
        likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-12))
        likelihood.noise = NOISE
        model = Model(quadratic, likelihood)
        with gpytorch.settings.fast_computations(False, False, False), torch.no_grad():
            model.train()
            evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(
                model(torch.tensor(X)), torch.tensor(Y)
            ) * len(Y)
            model.eval()
            posterior = model(torch.tensor(NEW))
            print(f"quadratic={quadratic}")
            print("evidence", repr(float(evidence)))
            print("mean", [float(number) for number in posterior.mean])
            print("covariance", np.asarray(posterior.covariance_matrix).tolist())


if __name__ == "__main__":
    main()
