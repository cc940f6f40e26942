/** Names of agent tools that are not used for anything else. */
const plainNames =
  'WebFetch|WebSearch|MultiEdit|NotebookEdit|NotebookRead|TodoWrite|TodoRead|BashOutput|KillShell|AskUserQuestion|ExitPlanMode|SlashCommand'
/** Tool names that are also words or programs: they only count in forms that are not used for the word. */
const wordNames = 'Bash|Read|Write|Edit|Glob|Grep|Task|LS|Agent|Skill'
const verb = '(?:[Uu]s(?:e|es|ing)|[Cc]all(?:s|ing)?|[Ii]nvok(?:e|es|ing)|[Rr]un(?:s|ning)?)'
const mark = '[`*"\']{0,3}'

/** Each pattern has bounded lookarounds, so matching is linear in the text's length. Group 1 is the tool. */
const forms: readonly RegExp[] = [
  new RegExp(`(?<![\\w.])(${plainNames})(?![\\w])`, 'g'),
  /(?<![\w.])(mcp__\w[\w-]{0,127})/g,
  // "the Read tool", "use the `Bash` tool"
  new RegExp(`(?:\\b[Tt]he|\\b[Ww]ith|\\bvia|\\b${verb})\\s{1,3}${mark}(${wordNames})${mark}\\s{1,3}tool\\b`, 'g'),
  // "use Bash to run", "using Grep for"
  new RegExp(`\\b${verb}\\s{1,3}(?:the\\s{1,3})?${mark}(${wordNames})${mark}\\s{1,3}(?:to|for)\\b`, 'g'),
  // A call as agents write it: Bash(git status), Task(subagent_type=…)
  /(?<![\w.])(?<!\b(?:func|def|fn|class|new|function|await) )(Bash|Glob|Grep)\((?!\))/g,
  /(?<![\w.])(Read|Write|Edit|Task|LS)\(\s{0,3}(?:file_path|path|subagent_type|description|prompt)\s{0,3}[=:]/g,
  // {"tool": "Bash"}, tool_name: Read
  new RegExp(`\\btool(?:_name|Name)?["']?\\s{0,3}[:=]\\s{0,3}["'\`](${wordNames})["'\`]`, 'g'),
  // Any tool name: "use the `create_issue` tool"
  new RegExp(`\\b${verb}\\s{1,3}(?:the\\s{1,3})?\`([A-Za-z][\\w.-]{1,63})\`\\s{1,3}tool\\b`, 'g'),
]
/** A negation; searched for in the 60 characters before the name. */
const negated = /\b(?:not|never|don[’']t|avoid|without|instead of|rather than|no need (?:to|for))\b[^.!?\n]*$/i

/** Whether the text asks its reader to run shell commands: a shell code fence after a line that says so. */
function runsShell(text: string): boolean {
  let before = ''
  let fence: string | undefined
  for (const line of text.split('\n')) {
    const opening = /^ {0,3}(`{3,}|~{3,})[ \t]*(\w*)/.exec(line.slice(0, 200))
    if (fence !== undefined) {
      if (opening?.[1]?.startsWith(fence) && opening[2] === '') fence = undefined
      continue
    }
    if (opening?.[1]) {
      const tells = /\b(?:run|running|execute)\b/i.exec(before)
      const isShell = /^(?:bash|sh|shell|zsh)$/i.test(opening[2] ?? '')
      if (isShell && tells && !negated.test(before.slice(0, tells.index))) return true
      fence = opening[1]
    } else if (line.trim() !== '') before = line.slice(0, 500)
  }
  return false
}

/** Tools that a text asks its reader to use, detected by forms that rarely mean anything else; without duplicates. Pure and linear. */
export function toolsUsed(text: string): string[] {
  const found = new Set<string>()
  for (const form of forms)
    for (const match of text.matchAll(form)) {
      const [, tool] = match
      if (tool !== undefined && !negated.test(text.slice(Math.max(0, match.index - 60), match.index))) found.add(tool)
    }
  if (runsShell(text)) found.add('Bash')
  return [...found]
}

const baseOf = (tool: string): string => (tool.split('(', 1)[0] ?? '').trim()
const known = new Set(`${plainNames}|${wordNames}`.split('|').map((name) => name.toLowerCase()))

/** Whether an entry of `allowed-tools` covers a tool: by name, by MCP server or by wildcard. */
function covers(entry: string, tool: string): boolean {
  const name = baseOf(entry).toLowerCase()
  const wanted = tool.toLowerCase()
  if (name === '*' || name === wanted) return true
  if (name.endsWith('*')) return wanted.startsWith(name.slice(0, -1))
  if (name.startsWith('mcp__')) return wanted.startsWith(`${name}__`)
  // A shell runs any program; a shell limited to certain commands covers those it lists.
  if (name === 'bash' && !known.has(wanted) && !wanted.startsWith('mcp__'))
    return !entry.includes('(') || entry.toLowerCase().includes(wanted)
  return false
}

/**
 * Tools that the texts use but `allowed-tools` does not list, sorted. A skill without `allowed-tools` declares nothing and misrepresents
 * nothing: always empty for null. An empty list declares that no tools are needed.
 */
export function undeclaredTools(texts: readonly string[], allowed: readonly string[] | null): string[] {
  if (allowed === null) return []
  const used = new Set(texts.flatMap(toolsUsed))
  return [...used].filter((tool) => !allowed.some((entry) => covers(entry, tool))).sort()
}
