// A blocking queue class of unique_ptr: the usual producer and consumer.
// gcc: also
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

struct Queue {
    void put(std::unique_ptr<int> item)
    {
        std::lock_guard<std::mutex> guard(lock);
        items.push_back(std::move(item));
        cond.notify_one();
    }
    std::unique_ptr<int> get()
    {
        std::unique_lock<std::mutex> guard(lock);
        cond.wait(guard, [this] { return !items.empty(); });
        auto item = std::move(items.front());
        items.pop_front();
        return item;
    }
    std::mutex lock;
    std::condition_variable cond;
    std::deque<std::unique_ptr<int>> items;
};

int main()
{
    Queue queue;
    int sum = 0;
    std::thread producer([&] {
        for (int i = 0; i < 50; i++)
            queue.put(std::make_unique<int>(i));
    });
    for (int i = 0; i < 50; i++)
        sum += *queue.get();
    producer.join();
    return sum - 1225;
}
