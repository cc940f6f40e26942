import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'

// The production API whose processor time can be sampled between two signals. Importing it starts the server.
const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.setSamplingInterval', { interval: 250 })
let isSampling = false
process.on('SIGUSR2', () => {
  if (!isSampling) void session.post('Profiler.start')
  else
    void session.post('Profiler.stop').then(({ profile }) => {
      writeFileSync(process.env.KP_PROFILE_FILE ?? '', JSON.stringify(profile))
    })
  isSampling = !isSampling
})
await import('./api.ts')
