// The destructor of the most derived class ends the threads before the base classes go.
// issue: https://github.com/fastbuild/fastbuild/pull/397
//   https://github.com/stellar/stellar-core/issues/5006
// tool: ThreadSanitizer
// there: unusable report; a race on the table pointer, mended by shutting down in each derived
//   class
// verdict: no race; the join comes before the base class's destructor
#include <thread>

struct Pool {
    std::thread connection;
    int received = 0;
    virtual void receive() = 0;
    void shutdown()
    {
        connection.join();
    }
    virtual ~Pool()
    {
    }
};

struct Server : Pool {
    void receive() override
    {
        received++;
    }
    void listen()
    {
        connection = std::thread([this] { receive(); });
    }
    ~Server() override
    {
        shutdown();
    }
};

int main()
{
    Server *server = new Server;
    server->listen();
    delete server;
}
