import type { ClientBase } from 'pg'
import type { Unit } from '#lib/domains/knowledge/contract.ts'
import { searchVector, weightedTextsOf } from '#lib/domains/knowledge/search/words.ts'

/** Words with known frequencies that occur nowhere else in the corpus. */
export const planted = {
  everywhere: 'everywhere',
  /** In 8 of 100. */
  frequent: 'cartography',
  /** In 3 of each 10,000 units, also mistyped. */
  rare: 'thermocline',
  mistyped: 'thermoclnie',
  /** In 1 of 100, within other Chinese text. */
  chinese: '编译器',
} as const

const common =
  'the of and to in a is that for it was on are as with be at by this had not but from have or an they which one you were all her she there would their we him been has when who will no more if out so said what up its about into than them can only other new some could time these two may then do first any my now such like our over me even most made after also did many before must through back years where much your way well down should because each just those people how too little state good very make world still own see men work long get here between both life being under never day same another know while last might us great old year off come since against go came right used take three'
const technical =
  'build test error file function server client request response timeout memory cache thread lock queue index query database table column row schema migration deploy release version branch commit merge conflict review pipeline container image cluster node network socket packet proxy header cookie session token password certificate key encrypt decrypt hash sign verify parse compile link linker assembler syntax python script module package import class method object string integer float number list array map set loop condition exception traceback debug log trace profile benchmark latency throughput cpu disk storage backup restore snapshot replica shard partition transaction rollback isolation consistency retry backoff limit quota rate worker job schedule cron event message broker stream batch window aggregate join filter sort search rank score model train evaluate dataset feature label prompt agent tool call pattern plan step observe recover summary outcome quality user account role permission policy audit consent privacy retention erase export browser page form button input field validate render component style layout theme color font icon image video audio codec compress archive extract path directory permission shell command terminal editor config environment variable secret setting flag option argument default value type interface generic async await promise callback event handler listener signal process kill restart crash leak overflow underflow buffer pointer reference null undefined missing wrong slow fast broken fixed flaky intermittent deterministic random seed round precision delta time date zone format locale unicode encoding decode character byte bit mask shift register stack heap garbage collect allocate free virtual physical kernel driver device port bus clock interrupt boot image flash drive mount partition sector forensic capture traffic telnet login exploit binary reverse engineer challenge web security injection upload perl python ruby rust java colon bracket indent division zero cryptography cipher modulus prime factor attack message secret flag'
const chineseWords =
  '构建 失败 因为 文件 过期 服务器 请求 响应 超时 内存 缓存 线程 队列 索引 查询 数据库 迁移 部署 版本 分支 合并 冲突 容器 集群 网络 代理 会话 令牌 密码 证书 加密 解密 验证 解析 链接 模块 函数 对象 列表 循环 条件 异常 调试 日志 延迟 吞吐 磁盘 备份 恢复 快照 事务 回滚 重试 限制 任务 消息 批量 过滤 排序 搜索 模型 训练 评估 数据 工具 模式 步骤 结果 质量 用户 权限 审计 隐私 导出 浏览器 页面 组件 样式 配置 环境 变量 默认 接口 进程 崩溃 泄漏 指针 随机 精度 时间 格式 编码 字符 设备 中断'
const syllables =
  'ba be bi bo bu da de di do du fa fe fi ga go gu ha he ka ke ki ko la le li lo lu ma me mi mo mu na ne ni no pa pe pi po ra re ri ro ru sa se si so ta te ti to tu va ve vi za zo tra ple sto gri bran clen dusk fron mint'.split(
    ' ',
  )

/** Pseudo-random numbers, the same in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Some 30,000 words with frequencies by Zipf's law. The frequent ones are English and technical. */
function vocabulary(random: () => number): () => string {
  const words = [...common.split(' '), ...new Set(technical.split(' '))]
  const known = new Set(words)
  while (words.length < 30_000) {
    const made = Array.from(
      { length: 2 + Math.floor(random() * 3) },
      () => syllables[Math.floor(random() * syllables.length)] ?? 'ba',
    ).join('')
    if (known.has(made)) continue
    known.add(made)
    words.push(made)
  }
  let sum = 0
  const sums = Float64Array.from(words, (_, rank) => {
    sum += 1 / (rank + 5)
    return sum
  })
  return () => {
    const wanted = random() * sum
    let [low, high] = [0, words.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sums[middle] ?? 0) < wanted) low = middle + 1
      else high = middle
    }
    return words[low] ?? ''
  }
}

export interface CorpusOptions {
  /** The first number, to extend a corpus. */
  from?: number
  seed?: number
}
export interface CorpusUnit {
  id: string
  agentId: string
  organisationId: string
  document: Unit
  /** A `tsvector` in its text form. */
  search: string
  quality: number
  createdAt: Date
}

const agents = 50
const domains = ['code', 'finance', 'medical', 'customer_service', 'operations']
export const corpusAgent = (n: number): string => `corpus-agent-${n}`
/** The organization of agents with this number. */
export const corpusOrganisation = (n: number): string => `corpus-org-${n % 20}`
const firstDay = Date.UTC(2026, 0, 1)

/** Units of about 1.8 KB: 80 % network, 15 % organization, 5 % private. */
export function* benchCorpus(count: number, { from = 0, seed = 7 }: CorpusOptions = {}): Generator<CorpusUnit> {
  const random = randomNumbers(seed + from)
  const word = vocabulary(randomNumbers(seed))
  const chinese = chineseWords.split(' ')
  const sentence = (length: number, more: readonly string[] = []): string =>
    [...Array.from({ length }, word), ...more].join(' ')
  for (let n = from; n < from + count; n++) {
    const agent = n % agents
    const extra: string[] = [planted.everywhere]
    if (random() < 0.08) extra.push(planted.frequent)
    if (n % 10_000 === 17 || n % 10_000 === 4_711 || n % 10_000 === 8_000) extra.push(planted.rare)
    const inChinese =
      n % 10 === 3
        ? `${Array.from({ length: 12 }, () => chinese[Math.floor(random() * chinese.length)]).join('')}${n % 100 === 3 ? `的${planted.chinese}` : ''}。`
        : ''
    const shared = random()
    const id = `kp:trace:corpus${String(n).padStart(14, '0')}`
    const createdAt = new Date(firstDay + n * 60_000)
    const document: Unit = {
      '@context': 'https://openknowledgepulse.org/schema/v1',
      '@type': 'ReasoningTrace',
      id,
      metadata: {
        created_at: createdAt.toISOString(),
        agent_id: corpusAgent(agent),
        framework: 'langgraph',
        task_domain: domains[n % domains.length] ?? 'code',
        success: random() < 0.8,
        quality_score: 0.7,
        visibility: shared < 0.8 ? 'network' : shared < 0.95 ? 'org' : 'private',
        privacy_level: 'aggregated',
      },
      task: { objective: sentence(14, n % 3 === 0 ? extra : []) },
      steps: [
        { step_id: 0, type: 'thought', content: sentence(45, n % 3 === 1 ? extra : []) },
        { step_id: 1, type: 'tool_call', tool: { name: 'shell' }, input: { command: sentence(12) }, output_summary: sentence(45) }, // biome-ignore format: one step a line
        { step_id: 2, type: 'observation', content: `${sentence(45, n % 3 === 2 ? extra : [])} ${inChinese}` },
        { step_id: 3, type: 'thought', content: sentence(40) },
      ],
      outcome: { result_summary: sentence(25), confidence: 0.8 },
    }
    yield {
      id,
      agentId: corpusAgent(agent),
      organisationId: corpusOrganisation(agent),
      document,
      search: searchVector(weightedTextsOf(document)),
      quality: Math.round((0.2 + 0.7 * random()) * 10_000) / 10_000,
      createdAt,
    }
  }
}

const rowsAtOnce = 1_000

/**
 * Fills an empty, migrated database with `count` units of 50 agents in 20 organizations, indexed, counted and
 * analysed. Runs as the owner, skips triggers and builds the word index at the end, so that 100,000 units take about
 * two minutes.
 */
export async function seedCorpus(owner: ClientBase, count: number, options: CorpusOptions = {}): Promise<void> {
  await owner.query("SET maintenance_work_mem = '512MB'; SET work_mem = '256MB'; SET synchronous_commit = off")
  await owner.query(
    `INSERT INTO organisations (id, name, created_at) SELECT 'corpus-org-' || n, 'Corpus ' || n, now() FROM generate_series(0, 19) AS n ON CONFLICT DO NOTHING`,
  )
  await owner.query(
    `INSERT INTO agents (id, organisation_id, lawful_basis, notice_version, created_at)
     SELECT 'corpus-agent-' || n, 'corpus-org-' || n % 20, 'contract', 'corpus', now() FROM generate_series(0, ${agents - 1}) AS n ON CONFLICT DO NOTHING`,
  )
  await owner.query('ALTER TABLE units DISABLE TRIGGER USER')
  const { rows: indexes } = await owner.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
     WHERE indrelid = 'units'::regclass AND NOT indisunique`,
  )
  for (const { name } of indexes) await owner.query(`DROP INDEX ${name}`)
  let batch: object[] = []
  const store = async () => {
    await owner.query(
      `INSERT INTO units (id, type, agent_id, organisation_id, visibility, document, domain, quality_score, novelty, created_at, updated_at, search)
       SELECT id, 'ReasoningTrace', "agentId", "organisationId", (document->'metadata'->>'visibility')::visibility, document,
         document->'metadata'->>'task_domain', quality, 0.5, "createdAt", "createdAt", search::tsvector
       FROM json_to_recordset($1::json) AS s(id text, "agentId" text, "organisationId" text, document jsonb, search text, quality float8, "createdAt" timestamptz)`,
      [JSON.stringify(batch)],
    )
    batch = []
  }
  for (const unit of benchCorpus(count, options)) if (batch.push(unit) === rowsAtOnce) await store()
  if (batch.length > 0) await store()
  for (const { definition } of indexes) await owner.query(definition)
  await owner.query('ALTER TABLE units ENABLE TRIGGER USER')
  await countWords(owner)
  // VACUUM enables index-only scans and writes hint bits, which the first measured query would otherwise write.
  await owner.query('VACUUM (ANALYZE) units')
  await owner.query('VACUUM (ANALYZE) search_words')
}

/** Fills the word table like its job. */
export async function countWords(owner: ClientBase): Promise<void> {
  await owner.query('DELETE FROM search_news; DELETE FROM search_words')
  await owner.query(
    `INSERT INTO search_words (scope, word, units, bearer)
     SELECT scope, word, count(*), min(id) FROM units CROSS JOIN LATERAL kept_words(search) AS k(word) GROUP BY scope, word
     UNION ALL SELECT scope, '', count(*), NULL FROM units GROUP BY scope`,
  )
}
