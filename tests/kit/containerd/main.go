// Command containerd reads the registries' folder of a host as containerd does, and pulls with its
// resolver from registries that are a table in its input: no network is used.
//
// Usage: containerd FOLDER < script.json
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	olddocker "github.com/containerd/containerd/remotes/docker"
	oldconfig "github.com/containerd/containerd/remotes/docker/config"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/core/remotes/docker/config"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Script is what to do: whether to resolve a reference, what to fetch of it, and what the
// registries answer, by URL. A URL that is not there is a 404.
type Script struct {
	Reference string
	Resolve   bool
	Fetch     []ocispec.Descriptor
	Answers   map[string]Answer
}

// Answer is a fake registry's: no status means that nobody listens.
type Answer struct {
	Status int
	Type   string
	Digest string
	Body   string
}

// Report is what came of it.
type Report struct {
	Hosts    []string
	OldHosts []string
	Requests []string
	Resolved ocispec.Descriptor
	Fetched  []string
	Errors   []string
}

// fakeNetwork answers from the script, and notes each request.
type fakeNetwork struct {
	answers  map[string]Answer
	lock     sync.Mutex
	requests []string
}

func (f *fakeNetwork) RoundTrip(request *http.Request) (*http.Response, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.requests = append(f.requests, request.Method+" "+request.URL.String())
	url := *request.URL
	url.RawQuery = ""
	answer, known := f.answers[url.String()]
	if !known {
		answer = Answer{Status: http.StatusNotFound}
	}
	if answer.Status == 0 {
		return nil, errors.New("connection refused")
	}
	body := answer.Body
	response := &http.Response{
		Status: http.StatusText(answer.Status), StatusCode: answer.Status, Request: request,
		ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, ContentLength: int64(len(body)),
	}
	response.Header.Set("Content-Type", answer.Type)
	response.Header.Set("Content-Length", fmt.Sprint(len(body)))
	if answer.Digest != "" {
		response.Header.Set("Docker-Content-Digest", answer.Digest)
	}
	if request.Method == http.MethodHead {
		body = ""
	}
	response.Body = io.NopCloser(strings.NewReader(body))
	return response, nil
}

func main() {
	var script Script
	if err := json.NewDecoder(os.Stdin).Decode(&script); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	report := run(context.Background(), os.Args[1], script)
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder string, script Script) (report Report) {
	network := &fakeNetwork{answers: script.Answers}
	options := config.HostOptions{
		HostDir: config.HostDirFromRoot(folder),
		UpdateClient: func(client *http.Client) error {
			client.Transport = network
			return nil
		},
	}
	note := func(err error) {
		if err != nil {
			report.Errors = append(report.Errors, err.Error())
		}
	}
	hosts := config.ConfigureHosts(ctx, options)
	registry, _, _ := strings.Cut(script.Reference, "/")
	found, err := hosts(registry)
	note(err)
	for _, each := range found {
		resolves := each.Capabilities.Has(docker.HostCapabilityResolve)
		report.Hosts = append(report.Hosts, described(each.Scheme, each.Host, each.Path, resolves))
	}
	report.OldHosts, err = oldHosts(ctx, folder, registry)
	note(err)
	resolver := docker.NewResolver(docker.ResolverOptions{Hosts: hosts})
	if script.Resolve {
		_, report.Resolved, err = resolver.Resolve(ctx, script.Reference)
		note(err)
	}
	fetcher, err := resolver.Fetcher(ctx, script.Reference)
	note(err)
	for _, each := range script.Fetch {
		text, err := fetched(ctx, fetcher.Fetch, each)
		note(err)
		report.Fetched = append(report.Fetched, text)
	}
	report.Requests = network.requests
	return report
}

// oldHosts is what a containerd before 2.0 reads.
func oldHosts(ctx context.Context, folder, registry string) (names []string, err error) {
	options := oldconfig.HostOptions{HostDir: oldconfig.HostDirFromRoot(folder)}
	found, err := oldconfig.ConfigureHosts(ctx, options)(registry)
	for _, each := range found {
		resolves := each.Capabilities.Has(olddocker.HostCapabilityResolve)
		names = append(names, described(each.Scheme, each.Host, each.Path, resolves))
	}
	return names, err
}

func described(scheme, host, path string, resolves bool) string {
	what := "pulls"
	if resolves {
		what = "resolves"
	}
	return scheme + "://" + host + path + " " + what
}

// fetched is the content of a descriptor, held against its digest as containerd's store does.
func fetched(
	ctx context.Context,
	fetch func(context.Context, ocispec.Descriptor) (io.ReadCloser, error),
	wanted ocispec.Descriptor,
) (string, error) {
	reader, err := fetch(ctx, wanted)
	if err != nil {
		return "", err
	}
	defer reader.Close()
	data, err := io.ReadAll(reader)
	if err != nil {
		return "", err
	}
	if found := digest.FromBytes(data); found != wanted.Digest {
		return "", fmt.Errorf("unexpected digest %s", found)
	}
	return string(data), nil
}
