import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { RequestRefused } from '#lib/client/request.ts'
import { readSelf } from '#lib/domains/tokens/contract.ts'
import { checkHealth, readOpenApi } from '#lib/http/service.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { configFile } from './config.ts'
import { describeError, exitCodes } from './failure.ts'
import { checkClockSkew, checkMode, fault, type HealthCheck, ok, skipped, warning } from './health.ts'
import { checkout } from './installation.ts'
import { compareKeys, readPin } from './pins.ts'
import type { CommandSession } from './session.ts'
import { publishedKeys } from './trust.ts'

const leastNode = 24
const day = 86_400_000

function nodeCheck(): HealthCheck {
  const { node } = process.versions
  return Number.parseInt(node, 10) >= leastNode
    ? ok('Node', node)
    : fault('Node', node, `Use Node ${leastNode}, which npm start installs.`)
}

/** Checks the stamp that bin/setup.mjs writes. */
function dependenciesCheck(): HealthCheck {
  const name = 'dependencies'
  const stamp = join(checkout, 'node_modules/.knowledgepulse-installed')
  const lock = join(checkout, 'package-lock.json')
  if (!existsSync(lock)) return skipped(name, 'no package-lock.json beside this kp')
  const wanted = createHash('sha256')
    .update(readFileSync(lock))
    .update(`${process.platform}-${process.arch}`)
    .digest('hex')
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted
    ? ok(name, 'installed as package-lock.json requires')
    : warning(name, 'installed packages differ from package-lock.json', 'Run npm start, which installs them.')
}

function configChecks({ folder, stored, storedElsewhere }: CommandSession): HealthCheck[] {
  const file = configFile(folder)
  if (!stored && !storedElsewhere) return [skipped('configuration', `none in ${folder}`)]
  return [
    checkMode('configuration', file, statSync(file).mode),
    checkMode('configuration folder', folder, statSync(folder).mode),
  ]
}

async function registryChecks(session: CommandSession): Promise<HealthCheck[]> {
  const name = 'registry'
  const { url } = session
  const asked = Date.now()
  try {
    const { headers } = await session.call(checkHealth)
    const answered = Date.now()
    const { body } = await session.call(readOpenApi)
    const info: unknown = body.info
    const version = typeof info === 'object' && info !== null && 'version' in info ? String(info.version) : 'unknown'
    const date = Date.parse(headers.get('date') ?? '')
    return [
      version === packageJson.version
        ? ok(name, `${url} answers, version ${version}`)
        : warning(
            name,
            `${url} answers, version ${version}; this kp is ${packageJson.version}`,
            'Use the same version on both sides.',
          ),
      // The server's time is between both times, and truncated to the second.
      ...(Number.isNaN(date) ? [] : [checkClockSkew('clock', (asked + answered) / 2 - (date + 500))]),
    ]
  } catch (error) {
    const told = describeError(error, url, session.command)
    return [fault(name, told.message, told.advice ?? 'Start it with npm start, or choose another registry with --url.')]
  }
}

async function tokenCheck(session: CommandSession): Promise<HealthCheck> {
  const name = 'token'
  const { token, url, command, storedElsewhere } = session
  if (token === undefined)
    return warning(
      name,
      storedElsewhere ? `none for ${url}; the stored one is for ${storedElsewhere.url}` : 'none',
      `${command('register')}, or ${command('login <token>')}`,
    )
  try {
    const { data } = (await session.call(readSelf)).body
    const expires = data.token?.expires_at ?? null
    const found = `${data.token?.key_prefix ?? 'it'}… works for ${data.agent_id ?? 'a person'} (${data.scopes.join(', ')})`
    if (expires !== null && Date.parse(expires) - Date.now() < 7 * day)
      return warning(name, `${found}, until ${expires}`, command('tokens rotate'))
    return ok(name, found)
  } catch (error) {
    const told = describeError(error, url, command)
    return fault(name, told.message, told.advice ?? command('login <token>'))
  }
}

async function pinCheck(session: CommandSession): Promise<HealthCheck> {
  const name = 'signing keys'
  const { url, folder, command } = session
  try {
    const pin = readPin(folder, url)
    if (!pin)
      return warning(name, `none pinned for ${url}: its receipts cannot be checked offline`, command('receipts trust'))
    const { verdict } = compareKeys(pin.keys, await publishedKeys(session))
    if (verdict === 'same') return ok(name, `${pin.keys.length} pinned, equal to those of the registry`)
    if (verdict === 'extended') return warning(name, 'the registry has new signing keys', command('receipts trust'))
    return fault(
      name,
      'the registry’s signing keys differ from the pinned keys',
      `Ask the operator of the registry, then run ${command('receipts trust')}`,
    )
  } catch (error) {
    return fault(
      name,
      error instanceof RequestRefused
        ? 'the registry published no signing keys'
        : describeError(error, url, command).message,
      command('receipts trust'),
    )
  }
}

async function doctor(session: CommandSession): Promise<void> {
  const { terminal } = session
  const marks = {
    ok: terminal.good('✓ '),
    warning: terminal.warn('! '),
    fault: terminal.bad('✗ '),
    skipped: terminal.dim('- '),
  }
  const checks: HealthCheck[] = []
  const add = (...found: HealthCheck[]) => {
    for (const check of found) {
      checks.push(check)
      terminal.line(marks[check.state], `${check.name}: ${check.found}`)
      if (check.todo !== undefined) terminal.line(`    → ${check.todo}`)
    }
  }
  add(nodeCheck(), dependenciesCheck(), ...configChecks(session))
  const registry = await registryChecks(session)
  add(...registry)
  if (registry[0]?.state !== 'fault') add(await tokenCheck(session), await pinCheck(session))
  const { checkInstallation: installationChecks } = await import('./installation-checks.ts')
  add(...(await installationChecks(session.invocation)))
  const faults = checks.filter(({ state }) => state === 'fault').length
  const warnings = checks.filter(({ state }) => state === 'warning').length
  terminal.document({ data: { healthy: faults === 0, checks } })
  terminal.line(
    terminal.bold(
      faults === 0
        ? warnings === 0
          ? 'No problems found.'
          : `No errors; ${warnings} warning(s).`
        : `${faults} error(s) and ${warnings} warning(s).`,
    ),
  )
  session.invocation.setExitCode(faults === 0 ? exitCodes.done : exitCodes.failed)
}

/** Checks this machine and the registry. */
export function doctorCommand(program: Command, begin: () => CommandSession): void {
  program
    .command('doctor')
    .summary('check this machine, the registry and the connection')
    .description(
      'Checks what kp and the registry need, one line per check: ✓ passed, ! warning, ✗ error, with the remedy. On the machine of the installation, it also checks the database, the ledger, the worker and the disk. Changes nothing. Exit code 1 if there is an error.\n\nExample:\n  kp doctor',
    )
    .action(() => doctor(begin()))
}
