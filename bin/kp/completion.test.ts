import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { memoryInvocation } from '#lib/testing/command-line.ts'
import { bashCompletion } from './completion-bash.ts'
import { fishCompletion } from './completion-fish.ts'
import { completionTree } from './completion-tree.ts'
import { zshCompletion } from './completion-zsh.ts'
import { buildProgram } from './program.ts'

const program = await buildProgram(memoryInvocation({}).invocation, () => {
  throw new Error('completion opens no session')
})
const tree = completionTree(program)
const folder = mkdtempSync(join(tmpdir(), 'kp-completion-'))
const script = (shell: string) => join(folder, `kp.${shell}`)
beforeAll(() => {
  writeFileSync(script('bash'), bashCompletion(tree))
  writeFileSync(script('zsh'), zshCompletion(tree))
  writeFileSync(script('fish'), fishCompletion(tree))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const run = (shell: string, ...args: string[]): string => execFileSync(shell, args, { encoding: 'utf8' })
const has = (shell: string): boolean => spawnSync(shell, ['--version']).error === undefined

/** Completions of bash for the last word. */
function offered(...words: string[]): string[] {
  const code = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kp; printf '%s\\n' "\${COMPREPLY[@]}"`
  const out = execFileSync('bash', ['--norc', '-c', code, 'bash', script('bash'), 'kp', ...words], { encoding: 'utf8' })
  return out.split('\n').filter((word) => word !== '')
}

test('the completion tree contains every command with all its options', () => {
  const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)]
  const pathOf = (command: Command): string =>
    command.parent ? `${pathOf(command.parent)} ${command.name()}`.trim() : ''
  for (const command of all(program)) {
    const node = tree.find(({ path }) => path === pathOf(command))
    for (const option of command.options) expect(node?.options.flatMap(({ names }) => names)).toContain(option.long)
    for (const below of command.commands) expect(node?.commands.map(({ name }) => name)).toContain(below.name())
  }
})

describe('bash', () => {
  test('loads the script and registers completion for kp', () => {
    execFileSync('bash', ['-n', script('bash')])
    const said = execFileSync('bash', ['--norc', '-c', `source ${script('bash')}; complete -p kp`], {
      encoding: 'utf8',
    })
    expect(said.trim()).toBe('complete -o default -F _kp kp')
  })
  test('completes commands, subcommands, options and values', () => {
    expect(offered('')).toEqual(tree[0]?.commands.map(({ name }) => name))
    expect(offered('cont')).toEqual(['contribute'])
    expect(offered('retention', '')).toEqual(['show', 'set', 'reset', 'sweep', 'history'])
    expect(offered('retention', 'sweep', '--d')).toEqual(['--dry-run'])
    expect(offered('export', 'me', '--format', '')).toEqual(['json', 'ndjson', 'zip'])
    expect(offered('completion', 'f')).toEqual(['fish'])
    expect(offered('help', 'sea')).toEqual(['search'])
  })
  test('completes correctly after options, option values, and words that are also commands', () => {
    expect(offered('--url', 'http://localhost:3000', 'retention', '--json', 's')).toEqual(['show', 'set', 'sweep'])
    expect(offered('search', 'retention', '--ty')).toEqual(['--type'])
    expect(offered('--token', 'retention', 'audit', '--act')).toEqual(['--action'])
    expect(offered('export', 'me', '--output', '')).toEqual([]) // file names are completed by bash itself
  })
})

test.runIf(has('zsh'))('zsh loads the script and registers completion for kp', () => {
  run('zsh', '-n', script('zsh'))
  const said = run(
    'zsh',
    '-fc',
    `autoload -Uz compinit && compinit -u -d ${folder}/dump && source ${script('zsh')} && print $_comps[kp]`,
  )
  expect(said.trim()).toBe('_kp')
})

test.runIf(has('fish'))('fish loads the script and completes commands and values', () => {
  run('fish', '--no-execute', script('fish'))
  const complete = (line: string) =>
    run('fish', '--no-config', '-c', `source ${script('fish')}; complete -C '${line}'`)
      .trim()
      .split('\n')
      .map((one) => one.split('\t')[0])
  expect(complete('kp retention ')).toEqual(expect.arrayContaining(['show', 'sweep']))
  expect(complete('kp export me --format ')).toEqual(expect.arrayContaining(['zip']))
})

test('completion scripts quote shell characters in a summary', () => {
  const odd = [
    {
      path: '',
      commands: [{ name: 'x', summary: "it's $(touch /tmp/kp-was-run) `id` \\ end" }],
      options: [],
      choices: [],
      takesArguments: false,
    },
  ]
  expect(zshCompletion(odd)).toContain(`'x:it'\\''s $(touch /tmp/kp-was-run) \`id\` \\ end'`)
  expect(fishCompletion(odd)).toContain("-d 'it\\'s $(touch /tmp/kp-was-run) `id` \\\\ end'")
})
