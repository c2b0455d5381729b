// A base class starts a thread that calls a virtual function while the derived class is
// constructed.
// issue: https://github.com/google/sanitizers/issues/1063
// tool: ThreadSanitizer
// there: unusable report; 'data race on vptr' was taken for a false alarm
// verdict: race; the derived constructor changes which function a call finds ([class.cdtor]p4)
// race: derived call
#include "prog.h"
#include <thread>

int called;

struct Client {
    std::thread thread;
    Client()
    {
        thread = std::thread([this] {
            value(); // [call]
            tell(&called);
        });
        await(&called);
    }
    virtual int value() const
    {
        return 1;
    }
    virtual ~Client()
    {
    }
};

struct TestClient : Client {
    TestClient()
    { // [derived]
    }
    int value() const override
    {
        return 2;
    }
};

int main()
{
    TestClient client;
    client.thread.join();
}
