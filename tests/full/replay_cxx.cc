// replay_cxx.cc - the same for C++: containers, virtual calls, exceptions, lambdas, new and delete
#include "say.h"

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

struct shape {
    virtual ~shape() {}
    virtual int area() const = 0;
    int id = 0;
};
struct square : shape {
    int side;
    explicit square(int s) : side(s) {}
    int area() const override { return side * side; }
};
struct box : shape {
    int w, h;
    box(int a, int b) : w(a), h(b) {}
    int area() const override
    {
        if (w > 15)
            throw std::out_of_range("wide");
        return w * h;
    }
};

static int total, failed;
struct guard {
    int &n;
    explicit guard(int &m) : n(m) { n++; }
    ~guard() { n--; }
};
static int inside;

__attribute__((noinline)) static int measure(const shape &s)
{
    guard g(inside);
    return s.area();
}

int main()
{
    std::vector<std::unique_ptr<shape>> shapes;
    for (int i = 0; i < 40; i++) {
        if (i % 2)
            shapes.push_back(std::make_unique<square>(i));
        else
            shapes.push_back(std::make_unique<box>(i, i + 1));
        shapes.back()->id = i;
    }
    for (auto &s : shapes) {
        try {
            total += measure(*s);
        } catch (const std::out_of_range &) {
            failed++;
        }
    }
    std::map<int, std::string> names;
    std::unordered_map<int, long> squares;
    for (int i = 0; i < 60; i++) {
        names[i * 37 % 61] = std::string(static_cast<size_t>(i % 40), 'a');
        squares[i] += i * i;
    }
    std::vector<int> v;
    for (auto &n : names)
        v.push_back(static_cast<int>(n.second.size()) * n.first);
    std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
    names.erase(names.begin(), names.find(30));
    say("total", static_cast<unsigned>(total));
    say("failed", static_cast<unsigned>(failed));
    say("inside", static_cast<unsigned>(inside));
    say("first", static_cast<unsigned>(v[0]));
}
