import { describe, expect, it } from 'vitest'
import { toolsUsed, undeclaredTools } from './tool-use.ts'

describe('toolsUsed', () => {
  it.each([
    ['Use WebFetch to load the page.', ['WebFetch']],
    ['search with WebSearch, then WebFetch', ['WebFetch', 'WebSearch']],
    ['Use the Read tool on each file.', ['Read']],
    ['using the `Bash` tool', ['Bash']],
    ['The **Task** tool starts another agent.', ['Task']],
    ['Use Bash to run the tests.', ['Bash']],
    ['Bash(git status)', ['Bash']],
    ['Task(subagent_type="explore")', ['Task']],
    ['Read(file_path: "a")', ['Read']],
    ['{"tool": "Write", "input": {}}', ['Write']],
    ['tool_name: "Edit"', ['Edit']],
    ['Call mcp__github__create_issue.', ['mcp__github__create_issue']],
    ['use the `create_issue` tool', ['create_issue']],
    ['Run these:\n\n```bash\ncurl example.org\n```\n', ['Bash']],
  ])('finds the tools in %j', (text, tools) => expect(toolsUsed(text).sort()).toEqual(tools))

  it.each([
    'Read the instructions, then write a report and edit it.',
    'Write tests. Read: the manual.',
    'A task is a piece of work; Task: draw a circle.',
    'Familiar with Bash for scripting.',
    'Do not use the Bash tool.',
    "Don't use WebFetch here",
    'Answer without WebSearch.',
    'The answer comes from reading rather than using the Read tool.',
    'reader.Read(buffer)',
    'func Read(p []byte)',
    'obj.Bash(x)',
    'A typical script:\n\n```bash\necho\n```\n',
    'Do not run this:\n\n```bash\nrm -rf /\n```\n',
    'Run it:\n\n```python\nprint()\n```\n',
    'Edit() and Write() are methods.',
  ])('finds no tools in %j', (text) => expect(toolsUsed(text)).toEqual([]))

  it('takes linear time', () => {
    const attacks = [
      'use the `',
      'mcp__',
      'Bash(',
      'not '.repeat(10),
      '```bash\nrun\n',
      "use the '''Read''' ",
      '[:="\'`Bash',
      `${'run '.repeat(8)}\n\`\`\`sh\n`,
    ]
    // Superlinear work exceeds the test's timeout.
    for (const attack of attacks) expect(toolsUsed(attack.repeat(1_000_000 / attack.length))).toBeInstanceOf(Array)
  })
})

describe('undeclaredTools', () => {
  it('returns used tools that are missing from allowed-tools', () => {
    expect(undeclaredTools(['Use Bash to run it, and WebFetch.'], ['Read'])).toEqual(['Bash', 'WebFetch'])
    expect(undeclaredTools(['Use Bash to run it.'], [])).toEqual(['Bash'])
    expect(undeclaredTools(['Nothing.', 'mcp__a__b'], ['mcp__c'])).toEqual(['mcp__a__b'])
  })

  it.each([
    ['Use Bash to run it.', ['Bash(git:*)']],
    ['Use the Read tool.', ['read']],
    ['mcp__github__create_issue', ['mcp__github']],
    ['mcp__github__create_issue', ['mcp__github__*']],
    ['mcp__github__create_issue and WebFetch', ['*']],
    ['use the `pdftotext` tool', ['Bash']],
    ['use the `pdftotext` tool', ['Bash(pdftotext:*)']],
  ])('returns none for %j with %j', (text, allowed) => expect(undeclaredTools([text], allowed)).toEqual([]))

  it('returns tools that a shell limited to certain commands does not cover', () => {
    expect(undeclaredTools(['use the `curl` tool'], ['Bash(git:*)'])).toEqual(['curl'])
  })

  it('returns none without allowed-tools', () => {
    expect(undeclaredTools(['Use Bash to run it.'], null)).toEqual([])
  })
})
