// Downloads from a server in this process: its requests, and the results of its answers.
#include "base/os/fetch.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace doorbell::os {
namespace {

// Answers one connection after another, each with the next answer, and keeps the requests.
class Server {
 public:
  explicit Server(std::vector<std::string> answers) {
    setenv("no_proxy", "127.0.0.1", 1);  // which libcurl reads
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_, 4), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, answers = std::move(answers)] {
      for (const std::string& answer : answers) serve(answer);
    });
  }
  ~Server() {
    if (thread_.joinable()) thread_.join();
    ::close(socket_);
  }
  std::string url(const std::string& path) const {
    return fmt::format("http://127.0.0.1:{}{}", port_, path);
  }
  std::vector<std::string> requests() {
    thread_.join();
    return requests_;
  }

 private:
  void serve(const std::string& answer) {
    const int client = accept(socket_, nullptr, nullptr);
    std::string request(4096, '\0');
    request.resize(static_cast<usize>(std::max<ssize_t>(0, read(client, request.data(), 4096))));
    requests_.push_back(request.substr(0, request.find('\r')));
    static_cast<void>(!write(client, answer.data(), answer.size()));
    ::close(client);
  }

  int socket_ = -1, port_ = 0;
  std::thread thread_;
  std::vector<std::string> requests_;
};

TEST(FetchUrl, GivesTheBytesAndFollowsRedirections) {
  Server server({"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n",
                 std::string("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na\0b", 41)});
  const Result<std::vector<u8>> bytes = fetch_url(server.url("/here"), 100);
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(*bytes, (std::vector<u8>{'a', 0, 'b'}));
  EXPECT_EQ(server.requests(),
            (std::vector<std::string>{"GET /here HTTP/1.1", "GET /there HTTP/1.1"}));
}

TEST(FetchUrl, RefusesWhatIsNotThere) {
  Server server({"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone"});
  const std::string url = server.url("/gone");
  const Result<std::vector<u8>> bytes = fetch_url(url, 100);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().kind, ErrorKind::NotFound);
  EXPECT_EQ(bytes.error().message, url + ": the server answers 404");
}

TEST(FetchUrl, RefusesMoreThanItMayTake) {
  Server server({"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde"});
  const std::string url = server.url("/large");
  const Result<std::vector<u8>> bytes = fetch_url(url, 4);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().message, url + ": more than 4 bytes");
}

TEST(FetchUrl, RefusesAnAnswerThatIsCutShort) {
  Server server({"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nabcde"});
  const std::string url = server.url("/cut");
  const Result<std::vector<u8>> bytes = fetch_url(url, 100);
  ASSERT_FALSE(bytes);
  EXPECT_NE(bytes.error().message.find(url), std::string::npos) << bytes.error().message;
}

// A file is not a page: from_url reads it without libcurl.
TEST(FetchUrl, TakesOnlyHttp) {
  const Result<std::vector<u8>> bytes = fetch_url("file:///etc/hostname", 100);
  ASSERT_FALSE(bytes);
  EXPECT_NE(bytes.error().message.find("file:///etc/hostname"), std::string::npos);
}

}  // namespace
}  // namespace doorbell::os
