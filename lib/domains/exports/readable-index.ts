/** Limits of the page, however large the export is. */
export const indexLimits = {
  /** Rows of one table. */
  rows: 200,
  columns: 12,
  /** UTF-16 units of one cell. */
  cell: 300,
  /** UTF-16 units of all cells. Tables after that are left out, but stay in the contents. */
  total: 4_000_000,
}

interface PartSample {
  name: string
  records: number
  columns: string[]
  rows: string[][]
}

/** The first members of an export's manifest, reduced to those that the page shows. */
export interface IndexHead {
  exported_at: string
  agents?: readonly { agent_id: string; folder: string }[]
}

const shortened = (text: string): string =>
  text.length > indexLimits.cell ? `${text.slice(0, indexLimits.cell)}…` : text
const textOf = (value: unknown): string =>
  value === null || value === undefined ? '' : shortened(typeof value === 'string' ? value : JSON.stringify(value))

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
/** Text of people in HTML: never markup. */
const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? '')
const hrefOf = (file: string): string => escapeHtml(file.split('/').map(encodeURIComponent).join('/'))

/** Collects the first records of each part while the archive is written. */
export function indexCollector() {
  const parts: PartSample[] = []
  let left = indexLimits.total
  return {
    parts: parts as readonly PartSample[],
    begin(name: string): void {
      parts.push({ name, records: 0, columns: [], rows: [] })
    },
    /** Takes a page of records of the current part, one JSON text per line. */
    add(lines: string, count: number): void {
      const part = parts.at(-1)
      if (!part) return
      part.records += count
      for (const line of lines.split('\n')) {
        if (part.rows.length >= indexLimits.rows || left <= 0) return
        const record: Record<string, unknown> = JSON.parse(line)
        if (part.columns.length === 0) part.columns = Object.keys(record).slice(0, indexLimits.columns)
        const row = part.columns.map((column) => textOf(record[column]))
        left -= row.reduce((sum, cell) => sum + cell.length, 0)
        part.rows.push(row)
      }
    },
  }
}
export type IndexCollector = ReturnType<typeof indexCollector>

/** The colors and spaces of the console, which the page cannot load. */
const style = `:root{color-scheme:light dark;font:15px/1.5 Inter,system-ui,sans-serif;--paper:oklch(0.988 0.002 210);--raised:oklch(1 0 0);--ink:oklch(0.24 0.012 225);--quiet:oklch(0.44 0.014 225);--line:oklch(0.9 0.006 215);--accent:oklch(0.42 0.075 195)}
@media (prefers-color-scheme:dark){:root{--paper:oklch(0.185 0.008 225);--raised:oklch(0.222 0.009 225);--ink:oklch(0.93 0.005 215);--quiet:oklch(0.77 0.01 218);--line:oklch(0.315 0.011 222);--accent:oklch(0.79 0.085 190)}}
body{max-width:75rem;margin:0 auto;padding:2rem 1.5rem;background:var(--paper);color:var(--ink)}
h1{font-size:1.5rem;letter-spacing:-.02em;margin:0 0 .5rem}h2{font-size:1.125rem;margin:2.5rem 0 .75rem}h3{font-size:1rem;margin:0 0 .5rem}a,summary{color:var(--accent)}
nav table,section{background:var(--raised);border:1px solid var(--line);border-radius:10px;padding:1rem 1.25rem;margin:0 0 .75rem}nav table{border-collapse:separate;border-spacing:0;width:100%}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.875rem}
th,td{border-bottom:1px solid var(--line);padding:.4rem .75rem .4rem 0;text-align:start;vertical-align:top;font-weight:400}thead th{color:var(--quiet);font-weight:500}tbody tr:last-child>*{border-bottom:0}
td{min-width:6rem;max-width:28rem;overflow-wrap:anywhere;white-space:pre-wrap}td.n{text-align:end;font-variant-numeric:tabular-nums}p.note{color:var(--quiet);margin:.25rem 0 .75rem}summary{cursor:pointer}
@media print{section{break-inside:avoid}}`

/** The groups of the page: the account first, then each agent by its folder. */
function groupsOf({ agents = [] }: IndexHead, parts: readonly PartSample[]) {
  const agentOf = new Map(agents.map(({ folder, agent_id }) => [folder, agent_id]))
  const folderOf = ({ name }: PartSample): string => {
    const folder = name.slice(0, Math.max(0, name.lastIndexOf('/')))
    return agentOf.has(folder) ? folder : ''
  }
  return [...Map.groupBy(parts, folderOf)].map(([folder, ofFolder]) => ({
    agent: agentOf.get(folder),
    parts: ofFolder,
  }))
}

/** The languages in which an archive describes itself. */
export type IndexLanguage = 'en' | 'zh'

interface IndexTexts {
  title: string
  madeAt: string
  lead: string
  contents: string
  category: string
  entries: string
  files: string
  account: string
  agent: string
  empty(count: string): string
  shown(rows: string, records: string): string
}

/** Texts of the page that an archive opens with. */
const indexTexts: Record<IndexLanguage, IndexTexts> = {
  en: {
    title: 'Data export',
    madeAt: 'Exported',
    lead: 'The JSON and CSV files have the complete data; tables here are shortened. manifest.json lists the SHA-256 of each file.',
    contents: 'Contents',
    category: 'Category',
    entries: 'Entries',
    files: 'Files',
    account: 'General',
    agent: 'Agent',
    empty: (count) => `Categories without entries: ${count}.`,
    shown: (rows, records) => `Showing ${rows} of ${records}.`,
  },
  zh: {
    title: '数据导出',
    madeAt: '导出时间：',
    lead: '完整数据见 JSON 和 CSV 文件，此处的表格有删节。manifest.json 列出每个文件的 SHA-256。',
    contents: '目录',
    category: '类别',
    entries: '条目数',
    files: '文件',
    account: '通用',
    agent: '智能体',
    empty: (count) => `没有条目的类别：${count}。`,
    shown: (rows, records) => `显示 ${rows} 条，共 ${records} 条。`,
  },
}

const chinese: Record<string, string> = {
  account: '账户',
  account_identities: '单点登录',
  account_links: '设置密码的链接',
  agent: '智能体',
  agent_documents: '智能体文档',
  audit_entries: '审计日志',
  chain_references: '区块链引用',
  clade_deltas: '传送中的分享',
  clade_shares: '分享的条目',
  content_rejections: '被拒绝的贡献',
  erasure_runs: '删除任务',
  email_choices: '邮件偏好',
  erasures: '删除记录',
  export_runs: '导出历史',
  graph_episodes: '知识图谱',
  grimoire_entries: '秘典条目',
  heartbeats: '心跳记录',
  held_versions: '法律保全下的旧版本',
  keyrings: '密钥环',
  knowledge_units: '知识单元',
  known_sign_ins: '常用登录位置',
  llm_log: '语言模型日志',
  performance_cards: '业绩卡',
  prepared_exports: '导出文件',
  privacy_links: '隐私请求链接',
  privacy_request_events: '隐私请求步骤',
  privacy_requests: '隐私请求',
  project_attachments: '项目附件',
  project_conversations: '项目对话',
  project_document_texts: '项目文档文本',
  project_documents: '项目文档',
  project_memberships: '项目成员身份',
  project_message_edits: '项目消息修改',
  project_messages: '项目消息',
  project_participations: '项目参与身份',
  project_provenance: '项目来源信息',
  proposals: '管理操作审批',
  rate_limit_refusals: '被拒绝的请求',
  read_notices: '已读通知',
  recovery_codes: '恢复码',
  references: '他人内容中的提及',
  reports: '举报',
  reports_received: '收到的举报',
  reputation: '信誉',
  reputation_ledger: '信誉记录',
  saved_searches: '已保存的搜索',
  second_factors: '两步验证',
  sessions: '会话',
  skills: '技能',
  snapshot_links: '快照链接',
  snapshots: '快照',
  sop_versions: '操作规程历史版本',
  telemetry: '使用统计',
  token_usage: '令牌使用情况',
  tokens: '令牌',
  uploaded_state: '上传的状态',
  votes: '投票',
  votes_received: '收到的投票',
}
const english: Record<string, string> = {
  agent_documents: 'Strategy theses and playbooks',
  chain_references: 'Blockchain references',
  clade_deltas: 'Shares in transit',
  clade_shares: 'Shared entries',
  content_rejections: 'Refused contributions',
  erasure_runs: 'Deletion runs',
  erasures: 'Deletions',
  export_runs: 'Export history',
  graph_episodes: 'Knowledge graph',
  keyrings: 'Agent keyrings',
  llm_log: 'Language model log',
  references: 'Mentions by others',
  sop_versions: 'Earlier versions of procedures',
  telemetry: 'Usage statistics',
}

/** The title of a part; without a translation, its name in words. */
function partTitle(part: string, locale: IndexLanguage): string {
  const known = locale === 'zh' ? chinese[part] : english[part]
  if (known !== undefined) return known
  const words = part.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** A page to begin with: contents with counts, and readable tables, with links to the JSON and CSV files. It contains no scripts. */
export function* indexPage(locale: IndexLanguage, head: IndexHead, all: readonly PartSample[]): Generator<string> {
  const t = indexTexts[locale]
  const number = new Intl.NumberFormat(locale === 'zh' ? 'zh-CN' : 'en')
  const parts = all.filter(({ records }) => records > 0)
  const idOf = new Map(parts.map((part, index) => [part, `part-${index + 1}`]))
  const shortName = (name: string): string => name.slice(name.lastIndexOf('/') + 1)
  const titleOf = ({ name }: PartSample): string => escapeHtml(partTitle(shortName(name), locale))
  const links = ({ name }: PartSample): string =>
    `<a href="${hrefOf(`${name}.json`)}">JSON</a> · <a href="${hrefOf(`${name}.csv`)}">CSV</a>`
  const groups = groupsOf(head, parts)
  const groupTitle = (agent: string | undefined): string =>
    agent === undefined ? t.account : `${t.agent}: ${escapeHtml(agent)}`

  yield `<!doctype html>\n<html lang="${locale === 'zh' ? 'zh-CN' : 'en'}"><head><meta charset="utf-8">`
  yield `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`
  yield `<meta name="viewport" content="width=device-width, initial-scale=1"><title>${t.title}</title><style>${style}</style></head>\n<body>`
  yield `<h1>${t.title}</h1>\n<p>${t.madeAt} <time>${escapeHtml(head.exported_at)}</time>. ${t.lead}</p>\n<nav aria-labelledby="contents"><h2 id="contents">${t.contents}</h2>`
  for (const { agent, parts: ofGroup } of groups) {
    yield `\n<h3>${groupTitle(agent)}</h3>\n<table><thead><tr><th scope="col">${t.category}</th><th scope="col">${t.entries}</th><th scope="col">${t.files}</th></tr></thead><tbody>`
    for (const part of ofGroup)
      yield `\n<tr><th scope="row"><a href="#${idOf.get(part)}">${titleOf(part)}</a></th><td class="n">${number.format(part.records)}</td><td>${links(part)}</td></tr>`
    yield '</tbody></table>'
  }
  const empty = all.filter(({ records }) => records === 0)
  // The same category of several agents is listed once.
  const emptyTitles = [...new Set(empty.map(titleOf))]
  yield `\n${empty.length > 0 ? `<details><summary>${t.empty(number.format(empty.length))}</summary><p class="note">${emptyTitles.join(' · ')}</p></details>` : ''}</nav>`
  for (const { agent, parts: ofGroup } of groups) {
    yield `\n<h2>${groupTitle(agent)}</h2>`
    for (const part of ofGroup) {
      const { columns, rows, records } = part
      yield `\n<section aria-labelledby="${idOf.get(part)}"><h3 id="${idOf.get(part)}">${titleOf(part)}</h3><p class="note">${t.shown(number.format(rows.length), number.format(records))} ${links(part)}</p>`
      if (rows.length > 0) {
        yield `<div class="scroll" tabindex="0" role="region" aria-labelledby="${idOf.get(part)}"><table><thead><tr>${columns.map((column) => `<th scope="col">${escapeHtml(column.replaceAll('_', ' '))}</th>`).join('')}</tr></thead><tbody>`
        for (const row of rows)
          yield `\n<tr>${row.map((cell) => `<td dir="auto">${escapeHtml(cell)}</td>`).join('')}</tr>`
        yield '</tbody></table></div>'
      }
      yield '</section>'
    }
  }
  yield '\n</body></html>\n'
}
