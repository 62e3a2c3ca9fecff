// Runs a network that was saved from PyTorch, without Python: TorchScript (.pt), or a package of
// AOTInductor (.pt2). Notebook 08 builds it.
//
// Run it:   ./run net.pt < rows.txt
// Time it:  ./run net.pt 1000 < rows.txt
//
// It reads numbers, 512 for each row, and prints the results, or with a number of calls the mean
// time of a call instead, in seconds of processor time.

#include <ATen/Parallel.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/script.h>

#include <ctime>
#include <functional>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

using Network = std::function<at::Tensor(at::Tensor)>;

Network torchscript(const std::string &path)
{
    auto net = std::make_shared<torch::jit::Module>(torch::jit::load(path));
    return [net](at::Tensor x) { return net->forward({x}).toTensor(); };
}

Network package(const std::string &path)
{
    auto net = std::make_shared<torch::inductor::AOTIModelPackageLoader>(path);
    return [net](at::Tensor x) { return net->run({x})[0]; };
}

int main(int count, char **words)
{
    if (count != 2 && count != 3) {
        std::cerr << "usage: run FILE.pt [CALLS] < rows.txt\n";
        return 1;
    }
    torch::NoGradGuard no_gradients;
    at::set_num_threads(1);
    const std::string path = words[1];
    Network net = path.ends_with(".pt2") ? package(path) : torchscript(path);

    std::vector<float> numbers(std::istream_iterator<float>(std::cin), {});
    auto x = torch::from_blob(numbers.data(), {(long)numbers.size() / 512, 512});
    auto y = net(x).contiguous();
    if (count == 2) {
        std::cout << std::setprecision(9);
        for (long i = 0; i < y.numel(); i++)
            std::cout << y.data_ptr<float>()[i] << "\n";
        return 0;
    }

    const int calls = std::stoi(words[2]);
    std::clock_t begin = 0;
    for (int i = -calls; i < calls; i++) {
        if (i == 0) // the first half was for warming up
            begin = std::clock();
        net(x);
    }
    std::cout << double(std::clock() - begin) / CLOCKS_PER_SEC / calls << "\n";
}
