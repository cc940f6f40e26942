import '../bin/runtime.ts'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine, machineLine } from './machine.ts'
import { markdownTableOf, replaceBetween } from './report.ts'
import type { BenchRow } from './row.ts'

/** Ordered by how much they disturb the following groups. */
const groups: Record<string, () => Promise<BenchRow[]>> = {
  sanitizer: async () => (await import('./sanitizer.ts')).run(),
  scanner: async () => (await import('./scanner.ts')).run(),
  text: async () => (await import('./text.ts')).run(),
  'false-finds': async () => (await import('./false-finds.ts')).run(),
  throughput: async () => (await import('./throughput.ts')).run(),
  'sql-ceiling': async () => (await import('./sql-ceiling.ts')).run(),
  rates: async () => (await import('./rates.ts')).run(),
  batch: async () => (await import('./batch.ts')).run(),
  'audit-growth': async () => (await import('./audit-growth.ts')).run(),
  'audit-query': async () => (await import('./audit-query.ts')).run(),
  'audit-browser': async () => (await import('./audit-browser.ts')).run(),
  sweep: async () => (await import('./sweep.ts')).run(),
  search: async () => (await import('./search.ts')).run(),
  growth: async () => (await import('./growth.ts')).run(),
  'console-search': async () => (await import('./console-search.ts')).run(),
  erasure: async () => (await import('./erasure.ts')).run(),
  graph: async () => (await import('./graph.ts')).run(),
  'subject-everywhere': async () => (await import('./subject-everywhere.ts')).run(),
  readings: async () => (await import('./readings.ts')).run(),
  find: async () => (await import('./find.ts')).run(),
  'due-day': async () => (await import('./due-day.ts')).run(),
  snapshots: async () => (await import('./snapshots.ts')).run(),
  export: async () => (await import('./export.ts')).run(),
  import: async () => (await import('./import.ts')).run(),
  limits: async () => (await import('./limits.ts')).run(),
  flood: async () => (await import('./flood.ts')).run(),
  overload: async () => (await import('./overload.ts')).run(),
  failover: async () => (await import('./failover.ts')).run(),
  faults: async () => (await import('./faults.ts')).run(),
  pages: async () => (await import('./pages.ts')).run(),
  start: async () => (await import('./start.ts')).run(),
}

const usage = `npm run bench -- [${Object.keys(groups).join(' | ')}]… [--write]
npm run bench -- profile [get | post | search-rare | search-common | search-two | export]…

Measures all groups, or those that are named. --write puts the tables into bench/README.md.`

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { write: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } },
    })
    const unknown = positionals.filter((name) => !Object.hasOwn(groups, name))
    if (unknown.length > 0) throw new Error(`There is no group "${unknown.join('", "')}".`)
    return { ...values, names: positionals.length > 0 ? positionals : Object.keys(groups) }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exit(2)
  }
}

if (process.argv[2] === 'profile') {
  process.chdir(join(import.meta.dirname, '..'))
  for (const name of process.argv.slice(3)) await (await import('./profile.ts')).profile(name)
  process.exit()
}
const { names, write, help } = readArguments()
if (help) {
  console.log(usage)
  process.exit()
}
process.chdir(join(import.meta.dirname, '..'))
const machine = describeMachine()
const measured: Record<string, BenchRow[]> = {}
const failed: string[] = []
console.log(machineLine(machine))
for (const name of names) {
  const started = performance.now()
  console.log(`\n${name} …`)
  try {
    const rows = (await groups[name]?.()) ?? []
    measured[name] = rows
    console.log(`${markdownTableOf(rows)}\n(${((performance.now() - started) / 1000).toFixed(0)} s)`)
  } catch (error) {
    // A failed group must not lose the results of the others.
    failed.push(name)
    console.error(error)
  }
}

mkdirSync('bench/results', { recursive: true })
const file = `bench/results/${machine.date.slice(0, 16).replaceAll(':', '')}.json`
writeFileSync(file, `${JSON.stringify({ machine, measured, failed }, null, 2)}\n`)
if (write) {
  const readme = 'bench/README.md'
  let text = readFileSync(readme, 'utf8')
  for (const [name, rows] of Object.entries(measured))
    text = replaceBetween(text, name, `${machineLine(machine)}\n\n${markdownTableOf(rows)}`)
  writeFileSync(readme, text)
}
const missed = Object.values(measured)
  .flat()
  .filter((row) => row.met === false)
console.log(`\nAll numbers are in ${file}.`)
for (const { name, bar } of missed) console.log(`✗ ${name}: ${bar}`)
for (const name of failed) console.log(`✗ ${name} could not be measured; why stands above`)
process.exit(missed.length + failed.length > 0 ? 1 : 0)
