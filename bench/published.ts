import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { sanitizeSkillMd } from '#lib/domains/sanitizer/sanitizer.ts'

/** Packages that contain published skills, rules, runbooks and documentation in Markdown. */
const npmPackages =
  'ai-labs-claude-skills bmad-method claude-code-templates @orchestra-research/ai-research-skills agents-config agentic-team-templates cc-sdd @n8n-as-code/skills @fission-ai/openspec bmad-method-test-architecture-enterprise oh-my-codex-cli @longtq2501/next-spring-skills @umituz/react-native-design-system agnix vibe-rules npm eslint-plugin-vue'
const pythonPackages =
  'agent-skills-library bitranox-skills biomedical-ai-skills auditoria-skills-mcp claude-data-skills claude-full-stack-skills dolphindb-agent-skills arc-free-skills confluence-assistant-skills-plugin finance-skills agent-skills-systemrdl agent-skills-bundle flyte-skills concinno'
const folder = join(homedir(), '.cache', 'knowledgepulse-published')
/** A maintained renderer of CommonMark, and the parser of HTML whose text a reader sees. */
const renderers = ['markdown-it@14.1.0', 'parse5@8.0.0']
const maxBytes = 600_000

/** Downloads and unpacks what is missing. */
function fetchPackages(): void {
  mkdirSync(folder, { recursive: true })
  const run = (command: string, ...rest: string[]) => execFileSync(command, rest, { cwd: folder, stdio: 'pipe' })
  if (!existsSync(join(folder, 'node_modules')))
    run('npm', 'install', '--prefix', folder, '--ignore-scripts', '--no-audit', ...renderers)
  const each = (names: string, fetch: (name: string, target: string) => void) => {
    for (const name of names.split(' ')) {
      const target = join(folder, 'packages', name.replaceAll(/\W/g, '_'))
      if (existsSync(target)) continue
      mkdirSync(target, { recursive: true })
      try {
        fetch(name, target)
      } catch (error) {
        console.error(`${name}: ${error instanceof Error ? error.message.split('\n')[0] : error}`)
      }
    }
  }
  each(npmPackages, (name, target) => {
    const file = run('npm', 'pack', name, '--silent', '--pack-destination', target).toString().trim()
    run('tar', '-xzf', join(target, file), '-C', target)
  })
  each(pythonPackages, (name, target) => {
    run('pip', 'download', '--no-deps', '--quiet', '-d', target, name)
    for (const file of readdirSync(target)) run('unzip', '-qo', join(target, file), '-d', target)
  })
}

function* markdownIn(path: string): Generator<string> {
  for (const entry of readdirSync(path, { withFileTypes: true }).sort((one, other) => (one.name < other.name ? -1 : 1)))
    if (entry.isDirectory()) yield* markdownIn(join(path, entry.name))
    else if (entry.isFile() && /\.(?:md|mdc|mdx|markdown)$/i.test(entry.name)) yield join(path, entry.name)
}

const Token = z.object({ type: z.string(), content: z.string() })
const Tokens = z.array(Token.extend({ children: z.array(Token).nullish() }))
const Renderer = z.custom<{ parse(text: string, state: object): unknown; render(text: string): string }>()
interface Node {
  nodeName: string
  tagName?: string | undefined
  value?: string | undefined
  childNodes?: Node[] | undefined
}
const Node: z.ZodType<Node> = z.lazy(() =>
  z.object({
    nodeName: z.string(),
    tagName: z.string().optional(),
    value: z.string().optional(),
    childNodes: z.array(Node).optional(),
  }),
)
const separated = new Set(
  'address article aside blockquote br caption col dd details div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr img input button legend li main nav ol p pre rp rt section select summary svg table tbody td tfoot th thead tr ul video'.split(
    ' ',
  ),
)
const hidden = new Set(['script', 'style', 'template', 'noscript', 'title', '#comment'])
const frontMatter = /^---[ \t]*\r?\n[\s\S]*?\n---[ \t]*(?=\r?\n|$)/

/** What a reader of a text sees, and its code. */
async function readerOf() {
  const load = async (name: string, file: string): Promise<unknown> =>
    import(pathToFileURL(join(folder, 'node_modules', name, file)).href)
  const { default: create } = z
    .object({ default: z.custom<(options: object) => unknown>() })
    .parse(await load('markdown-it', 'index.mjs'))
  const { parse } = z
    .object({ parse: z.custom<(html: string) => unknown>() })
    .parse(await load('parse5', 'dist/index.js'))
  const markdown = Renderer.parse(create({ html: true }))
  return (text: string): { words: string; code: string } => {
    const body = text.replace(frontMatter, '').normalize('NFC')
    let words = ''
    const visit = ({ nodeName, tagName = '', value, childNodes = [] }: Node) => {
      if (nodeName === '#text') words += value ?? ''
      if (hidden.has(nodeName)) return
      const gap = separated.has(tagName) ? '\n' : ''
      words += gap
      for (const child of childNodes) visit(child)
      words += gap
    }
    visit(Node.parse(parse(markdown.render(body))))
    const code = Tokens.parse(markdown.parse(body, {})).flatMap(({ type, content, children }) => [
      ...(type === 'fence' || type === 'code_block' ? [content] : []),
      ...(children ?? []).filter((child) => child.type === 'code_inline').map((child) => child.content),
    ])
    return { words: words.replace(/\s+/g, ' ').trim(), code: code.join('\0') }
  }
}

/**
 * Fetches published Markdown and classifies what the sanitizer does to it: an alteration is invisible if a reader sees the same words and the same
 * code. All others are listed in `bench/results/published.txt`, so that a person can judge them.
 */
async function classify(): Promise<void> {
  fetchPackages()
  const read = await readerOf()
  const seen = new Set<string>()
  const listed: string[] = []
  let [files, refused, altered, invisible] = [0, 0, 0, 0]
  for (const path of markdownIn(join(folder, 'packages'))) {
    const text = readFileSync(path, 'utf8')
    const hash = createHash('sha256').update(text).digest('hex')
    if (text.length > maxBytes || seen.has(hash)) continue
    seen.add(hash)
    files += 1
    try {
      const { text: after } = sanitizeSkillMd(text)
      if (after === text) continue
      altered += 1
      const [one, other] = [read(text), read(after)]
      if (one.words === other.words && one.code === other.code) invisible += 1
      else listed.push(`${one.words === other.words ? 'code' : 'words'}\t${path}`)
    } catch (error) {
      if (!SanitizationError.is(error)) throw error
      refused += 1
      listed.push(`refused\t${path} at ${error.place}: ${error.stage} ${error.rule}`)
    }
  }
  mkdirSync('bench/results', { recursive: true })
  writeFileSync('bench/results/published.txt', `${listed.join('\n')}\n`)
  console.log(`${files} files: ${refused} refused, ${altered} altered, of these ${invisible} invisibly`)
}

if (import.meta.main) await classify()
