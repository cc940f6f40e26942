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
export const indexTexts: Record<IndexLanguage, IndexTexts> = {
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
  project_provenance: '项目来源记录',
  proposals: '管理操作审批',
  rate_limit_refusals: '被拒绝的请求',
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
export function partTitle(part: string, locale: IndexLanguage): string {
  const known = locale === 'zh' ? chinese[part] : english[part]
  if (known !== undefined) return known
  const words = part.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
