import './runtime.ts'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { BadVariable, publicUrl, readEnv } from '#lib/config/env.ts'
import { DatabaseFault } from '#lib/stores/postgres/fault.ts'
import { BuildFailure, generateChanged } from './build.ts'
import { materialIn } from './demo/material.ts'
import { sampleFolder } from './demo/sample-folder.ts'

/** An error that the operator can correct, in one line. */
class Refusal extends Error {}

/** Turns off synchronous commits: a crash may lose demo data, and waiting for the disk at some ten thousand commits would take long. */
const hurried = (url: string): string => {
  const hurry = new URL(url)
  hurry.searchParams.set('options', '-c synchronous_commit=off')
  return hurry.href
}

const usage = `npm run demo [-- --data <folder>]

Fills an empty installation with sixty days of an example organization, so that every page can be seen alive.
  --data <folder>     traces.jsonl and skills/<name>/SKILL.md to contribute; ../shared/data where it is there
  --password <text>   of every account, 12 characters at least; one is made up and printed unless it is given`

function bar(done: number, of: number): void {
  if (process.stdout.isTTY) process.stdout.write(`\r  Day ${String(done).padStart(2)} of ${of}`)
  else if (done % 10 === 0) console.log(`  Day ${done} of ${of}`)
}

async function demo(): Promise<void> {
  const { values } = parseArgs({
    options: { data: { type: 'string' }, password: { type: 'string' }, help: { type: 'boolean' } },
  })
  if (values.help) return console.log(usage)
  const { password } = values
  if (password !== undefined && password.length < 12) throw new Refusal('--password must have at least 12 characters.')
  const env = readEnv()
  const until = new Date()
  const material = materialIn(values.data === undefined ? sampleFolder : resolve(values.data))
  await generateChanged(process.env, AbortSignal.timeout(120_000))
  // The generated database client exists from here on, so modules that import it can be loaded.
  const { openInstallation } = await import('#lib/platform/installation.ts')
  const { othersConnected } = await import('./demo/emptiness.ts')
  const installation = await openInstallation(env)
  try {
    const others = installation.embedded ? 0 : await othersConnected(installation.ownerUrl)
    if (others > 0)
      throw new Refusal(
        `Other programs are connected to this database (${others} connections), for example a running KnowledgePulse. Stop them, then try again. Nothing was changed.`,
      )
    const { NotEmpty, buildDemo: tellStory } = await import('./demo/story.ts')
    console.log(`Sixty days of an example organization (units: ${material.source}) …`)
    let shown = -1
    const progress = (done: number, of: number) => {
      if (done > shown) bar(done, of)
      shown = Math.max(shown, done)
    }
    const told = await tellStory({
      env: { ...env, DATABASE_URL: hurried(installation.appUrl) },
      material,
      until,
      progress,
    }).catch((error: unknown) => {
      if (!(error instanceof NotEmpty)) throw error
      throw new Refusal(
        `This installation is in use: it has ${error.message}. The demo can only fill an empty installation. Choose another folder, for example KP_DATA_DIR=var/demo npm run demo. Nothing was changed.`,
      )
    })
    const seconds = Math.round((Date.now() - until.getTime()) / 1000)
    const seen = told.accounts.filter(({ email }) => /^(ada|iris|mara|ben|nils)@/.test(email))
    console.log(
      [
        `\nDone in ${seconds} s. Now run npm start${env.KP_DATA_DIR === 'var' ? '' : ` with KP_DATA_DIR=${env.KP_DATA_DIR}`}, and open ${publicUrl(env)}/sign-in`,
        '',
        ...seen.map(({ email, role, name }) => `  ${email.padEnd(20)} ${role.padEnd(8)} ${name}`),
        `  and ${told.accounts.length - seen.length} more, listed under Users`,
        '',
        `  Password of every account   ${told.password}   (shown this once)`,
        '',
      ].join('\n'),
    )
  } finally {
    await installation.embedded?.stop()
  }
}

demo().then(
  () => process.exit(0),
  (error: unknown) => {
    const isPlain = [Refusal, DatabaseFault, BadVariable, BuildFailure].some((kind) => error instanceof kind)
    console.error(isPlain && error instanceof Error ? error.message : error)
    process.exit(1)
  },
)
