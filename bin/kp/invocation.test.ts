import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { memoryInvocation } from '#lib/testing/command-line.ts'
import { trace } from '#lib/testing/units.ts'
import { resolvePath } from './invocation.ts'
import { main } from './main.ts'

const root = mkdtempSync(join(tmpdir(), 'kp-invocation-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

type Call = Parameters<typeof memoryInvocation>[0]
async function run(call: Call) {
  const { invocation, result } = memoryInvocation(call)
  await main(invocation)
  return result()
}

describe('resolvePath', () => {
  test.each([
    ['a path in the working directory', '/folder', 'a/b.json', '/folder/a/b.json'],
    ['a relative path as typed', undefined, 'a/b.json', 'a/b.json'],
    ['an absolute path as typed', '/folder', '/a/b.json', '/a/b.json'],
    ['a path in the home directory', '/folder', '~/b.json', '/home/$&/b.json'],
    ['a path in the home directory', undefined, '~', '/home/$&'],
    ['a name with a tilde in the working directory', '/folder', '~b.json', '/folder/~b.json'],
    ['a dash', '/folder', '-', '-'],
  ])('returns %s when the working directory is %s and the path is %s', (_, workingDirectory, path, expected) => {
    expect(resolvePath({ homeDirectory: '/home/$&', workingDirectory }, path)).toBe(expected)
  })
})

describe('main', () => {
  /** A home and a working directory with one unit each. */
  const place = (name: string, atHome: string, here: string) => {
    const [home, workingDirectory] = [join(root, name, 'home'), join(root, name, 'here')]
    for (const [folder, text] of [[home, atHome] as const, [workingDirectory, here] as const]) {
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'unit.json'), text)
    }
    return { home, workingDirectory }
  }
  const valid = JSON.stringify(trace())

  test('reads the home and working directory of its invocation when two invocations share a process', async () => {
    const args = ['validate', '~/unit.json', 'unit.json']
    const [one, other] = [place('one', valid, valid), place('other', valid, '{')]
    const [first, second] = await Promise.all([run({ args, ...one }), run({ args, ...other })])
    expect(first).toMatchObject({
      status: 0,
      out: `✓ ${join(one.home, 'unit.json')}\n✓ ${join(one.workingDirectory, 'unit.json')}\n`,
    })
    expect(second.status).toBe(1)
    expect(second.out).toContain(`✓ ${join(other.home, 'unit.json')}\n✗ ${join(other.workingDirectory, 'unit.json')}: `)
  })

  test('reads the configuration in the home directory when XDG_CONFIG_HOME is not set', async () => {
    const { home } = place('configured', valid, valid)
    const file = join(home, '.config/knowledgepulse/config.json')
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, '{}')
    expect(await run({ args: ['validate', '~/unit.json'], home })).toMatchObject({
      status: 1,
      out: '',
      err: `Error: ${file} is not a valid kp configuration.\nCorrect it or remove it, then sign in again.\n`,
    })
  })

  test('reads standard input and variables of the invocation', async () => {
    expect(await run({ args: ['validate', '-'], input: valid })).toMatchObject({ status: 0, out: '✓ stdin\n' })
    expect(await run({ args: ['validate', '-'], env: { KP_URL: 'nonsense' } })).toMatchObject({
      status: 2,
      out: '',
      err: expect.stringContaining('KP_URL'),
    })
  })

  test.each([
    [0, 'no word', []],
    [0, 'a request for help', ['help', 'validate']],
    [2, 'a group without a command', ['receipts']],
    [2, 'an unknown command', ['lgoin']],
  ])('sets the exit code %i when the words are %s', async (status, _, args) => {
    const { exitCode } = process
    expect(await run({ args })).toMatchObject({ status, cleanUps: 0 })
    expect(process.exitCode).toBe(exitCode)
  })

  test('prints help with colours only when the stream is a terminal', async () => {
    const bold = '\u001b[1m'
    expect((await run({ args: ['help'] })).out).not.toContain(bold)
    for (const [args, hasColours] of [
      [['help'], true],
      [['help', '--no-color'], false],
    ] as const) {
      const { invocation, result } = memoryInvocation({ args })
      await main({
        ...invocation,
        stdout: Object.assign(invocation.stdout, { isTTY: true, columns: 60, hasColors: () => true }),
      })
      expect(result().out.includes(bold)).toBe(hasColours)
    }
  })
})
