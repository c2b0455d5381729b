// One of two methods forgets the lock.
// race: a b
// gcc: also
#include <mutex>
#include <thread>

class Account
{
  public:
    void deposit(int n)
    {
        std::lock_guard<std::mutex> guard(lock);
        balance += n; // [a]
    }
    void audit()
    {
        last = balance; // [b]
    }

  private:
    std::mutex lock;
    int balance = 0, last = 0;
};

int main()
{
    Account account;
    std::thread a([&] { account.deposit(5); });
    std::thread b([&] { account.audit(); });
    a.join();
    b.join();
}
