/** A reasoning trace as agents send it, about 2 KB of JSON, for the throughput of contributions. */
export const benchTrace = {
  '@context': 'https://openknowledgepulse.org/schema/v1',
  '@type': 'ReasoningTrace',
  metadata: {
    created_at: '2026-03-01T09:00:00Z',
    framework: 'langgraph',
    task_domain: 'code',
    success: true,
    quality_score: 0.8,
    visibility: 'network',
    privacy_level: 'aggregated',
  },
  task: {
    objective:
      'Find out why the nightly build takes forty minutes since the linker was updated, and make it fast again.',
  },
  steps: [
    {
      step_id: 0,
      type: 'thought',
      content:
        'Measure before changing anything: compile times and link times are reported separately, so a profile of one clean build tells which of the two grew. If linking grew, the number of threads and the kind of debug information are the first suspects.',
    },
    {
      step_id: 1,
      type: 'tool_call',
      tool: { name: 'shell', mcp_server: 'terminal' },
      input: {
        command: 'make clean && make -j8 PROFILE=1',
        timeout_seconds: 3600,
        environment: { LDFLAGS: '-Wl,--stats' },
      },
      output_summary:
        'Compiling took 6 minutes, linking 33 minutes; one link step alone took 21 minutes with a single thread busy.',
      latency_ms: 2340000,
    },
    {
      step_id: 2,
      type: 'error_recovery',
      content:
        'The first attempt to pass --threads=8 failed because the wrapper script drops unknown flags. The flag has to go through the environment of the wrapper instead of its command line.',
    },
    {
      step_id: 3,
      type: 'tool_call',
      tool: { name: 'editor' },
      input: { file: 'build/link.mk', replace: 'LINKER = ld', with: 'LINKER = ld.lld --threads=8' },
      output_summary: 'The wrapper passes the flag on; a trial link of the largest binary took 74 seconds.',
      latency_ms: 74000,
    },
    {
      step_id: 4,
      type: 'observation',
      output_summary:
        'A clean build takes 9 minutes; the binaries pass the same tests and differ in their build ids alone.',
    },
  ],
  outcome: {
    result_summary:
      'The updated linker had lost its thread setting. Setting it in the wrapper brought the build from 40 to 9 minutes; a check in the pipeline now fails when linking takes longer than compiling.',
    confidence: 0.9,
  },
}
