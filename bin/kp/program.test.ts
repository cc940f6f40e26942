import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { memoryInvocation } from '#lib/testing/command-line.ts'
import { commandFiles, filesFor } from './commands.ts'
import { buildProgram } from './program.ts'

const { invocation } = memoryInvocation({})
const program = await buildProgram(invocation, () => {
  throw new Error('help opens no session')
})
const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)]
const nameOf = (command: Command): string =>
  command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()
const commands = all(program).filter((command) => command !== program)

test('the overview lists every command by purpose, each on one line', () => {
  const overview = program.helpInformation()
  for (const command of program.commands) expect(overview).toMatch(new RegExp(`^  ${command.name()}\\b.* {2}\\S`, 'm'))
  expect(overview.match(/^\S.*:$/gm)).toEqual([
    'Who you are:',
    'Your agents:',
    'Knowledge:',
    'Skills:',
    'Your data:',
    'Receipts:',
    'Tokens and the audit log:',
    'For admins:',
    'On the machine of the installation:',
    'When something is wrong:',
    'Your shell:',
  ])
})

test.each(commandFiles.map((file) => [file.names.join(', '), file] as const))(
  'filesFor returns the file of %s',
  async (_, file) => {
    const { commands } = await buildProgram(invocation, () => {}, [file])
    expect(commands.map((command) => command.name())).toEqual(file.names)
    for (const name of file.names) expect(filesFor(['--json', name, 'anything'])).toContain(file)
  },
)

test('filesFor returns every file for help and unknown commands', () => {
  for (const words of [[], ['--help'], ['help'], ['lgoin'], ['completion', 'bash']])
    expect(filesFor(words)).toBe(commandFiles)
  expect(filesFor(['login', 'key'])).toHaveLength(1)
})

describe.each(commands.map((command) => [nameOf(command), command] as const))('%s', (name, command) => {
  test('has a summary, a description with an example, and explained options and arguments', () => {
    expect(command.summary()).toMatch(/^[a-z].{5,60}[^.]$/)
    expect(command.description()).toMatch(new RegExp(`\\n\\nExample:\\n  .*${name.replace(/^kp /, '')}`))
    for (const option of command.options) expect(option.description, option.flags).not.toBe('')
    for (const argument of command.registeredArguments) expect(argument.description, argument.name()).not.toBe('')
  })
})
