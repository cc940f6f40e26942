import type { StoreRefusal } from '#lib/kernel/store-refusal.ts'
import {
  type EmailContent,
  type EmailSections,
  emailContent,
  emailTime as time,
} from '#lib/stores/mail/email-content.ts'
import type { Locale } from './rules.ts'

/** The email to an agent's owner after a token received three 429s within an hour. It names the token by its readable prefix. */
export function tokenRevokedMail(
  locale: Locale,
  {
    url,
    keyPrefix,
    at,
    descendants = 0,
  }: { url: string; keyPrefix: string; at: Date; descendants?: number | undefined },
): EmailContent {
  return locale === 'zh'
    ? emailContent(locale, '一个令牌已被自动吊销', [
        `您的智能体所用的一个令牌（以 ${keyPrefix} 开头）已于 ${time(at)} 被吊销，因为它在一小时内三次超出了请求限额。`,
        ...(descendants > 0 ? [`用它创建的 ${descendants} 个令牌也已一并吊销。`] : []),
        '数据没有丢失，其他令牌仍然有效。',
        '请先检查程序为什么发送了这么多请求，再为它创建一个新令牌。如果这些请求不是您发出的，令牌可能已经泄露：吊销它正是应当做的事。',
        `${url}/account`,
      ])
    : emailContent(locale, 'A token was revoked automatically', [
        `A token of one of your agents, the one that begins with ${keyPrefix}, was revoked at ${time(at)}, because it went over its rate limit three times within one hour.`,
        ...(descendants > 0
          ? [
              descendants === 1
                ? 'One token that was created with it was revoked as well.'
                : `${descendants} tokens that were created with it were revoked as well.`,
            ]
          : []),
        'No data was lost, and your other tokens still work.',
        'Find out why the program sent so many requests, then create a new token for it. If you did not expect these requests, the token may have leaked, and revoking it was right.',
        `${url}/account`,
      ])
}

/** The email to an agent's owner after an admin issued a token for the agent. It names the token by its readable prefix. */
export function tokenIssuedMail(
  locale: Locale,
  { url, keyPrefix, at }: { url: string; keyPrefix: string; at: Date },
): EmailContent {
  return locale === 'zh'
    ? emailContent(locale, '管理员为您的智能体创建了令牌', [
        `管理员已于 ${time(at)} 为您的一个智能体创建了令牌（以 ${keyPrefix} 开头）。持有该令牌的程序可以读取这个智能体的私有内容。`,
        '该令牌在令牌列表中标记为“由管理员签发”。',
        '如果您不清楚创建原因，请吊销该令牌并联系管理员。',
        `${url}/tokens`,
      ])
    : emailContent(locale, 'An admin created a token for your agent', [
        `An admin created a token for one of your agents at ${time(at)}. It begins with ${keyPrefix}. A program with this token can read the private content of that agent.`,
        'Your list of tokens marks it as issued by an admin.',
        'If you do not know the reason, revoke the token and ask the admin.',
        `${url}/tokens`,
      ])
}

/** The email to an agent's owner after an admin exported the agent's data, private content included. */
export function dataExportedMail(
  locale: Locale,
  { url, agentId, at }: { url: string; agentId: string; at: Date },
): EmailContent {
  return locale === 'zh'
    ? emailContent(locale, '管理员导出了您的智能体的数据', [
        `管理员已于 ${time(at)} 导出了智能体 ${agentId} 的数据，其中包含私有内容。导出的依据是为该智能体提交并经确认的访问或可携带请求。`,
        '审计日志和导出文件中记录了导出人和对应的请求。',
        '如果您没有提出过该请求，请联系管理员。',
        `${url}/settings/privacy`,
      ])
    : emailContent(locale, 'An admin exported the data of your agent', [
        `An admin exported the data of your agent ${agentId} at ${time(at)}, including its private content. The reason is a confirmed request for access or portability of this agent.`,
        'The audit log and the export name the admin and the request.',
        'If you did not make this request, contact the admin.',
        `${url}/settings/privacy`,
      ])
}

/** The email to people of an organization that uses at least 80 % of its storage quota. */
export function storageWarningMail(locale: Locale, { url, percent }: { url: string; percent: number }): EmailSections {
  return locale === 'zh'
    ? [
        {
          subject: `存储配额已使用 ${percent}%`,
          paragraphs: [
            `您所在组织的存储配额已使用 ${percent}%。配额用尽后，新的写入请求会被拒绝（413 quota_exceeded）；读取、导出和删除不受影响。`,
            '请删除不再需要的数据，或联系管理员提高配额。',
            `${url}/overview`,
          ],
        },
      ]
    : [
        {
          subject: `${percent}% of your storage quota is used`,
          paragraphs: [
            `Your organization uses ${percent}% of its storage quota. When the quota is used up, new writes are rejected (413 quota_exceeded). Reading, exporting and deleting still work.`,
            'Delete data that you no longer need, or ask an admin for a larger quota.',
            `${url}/overview`,
          ],
        },
      ]
}

/** The email to a person whose password the operator reset. It contains no password. */
export function passwordResetMail(locale: Locale, { url, at }: { url: string; at: Date }): EmailContent {
  return locale === 'zh'
    ? emailContent(locale, '您的密码已被重置', [
        `管理员已于 ${time(at)} 重置了您的密码。您的所有登录会话都已结束。`,
        '一次性密码会由管理员另行交给您，登录后请立即更改。您的数据没有变化。',
        '如果您没有提出过这个请求，请联系管理员。',
        `${url}/sign-in`,
      ])
    : emailContent(locale, 'Your password was reset', [
        `The operator of this installation reset your password at ${time(at)}. All your sessions have ended.`,
        'They will give you a one-time password in another way; you choose a new one when you sign in with it. Nothing else about your account changed.',
        'If you did not request this, contact the operator.',
        `${url}/sign-in`,
      ])
}

/** Display names of stores by their names on receipts; other stores are shown by that name. */
export const storeNames: Record<Locale, Partial<Record<string, string>>> = {
  en: {
    graph: 'knowledge graph',
    checkpoints: 'checkpoint database',
    cache: 'cache',
    objects: 'object store',
    ledger: 'erasure ledger',
    postgresql: 'database',
  },
  zh: {
    graph: '知识图谱',
    checkpoints: '检查点数据库',
    cache: '缓存',
    objects: '对象存储',
    ledger: '删除记录账本',
    postgresql: '数据库',
  },
}

/** The email to an admin about a store for which erasures have waited too long. */
export function storeUnavailableMail(
  locale: Locale,
  { url, store, runs, since }: { url: string; store: string; runs: number; since: Date },
): EmailSections {
  const name = storeNames[locale][store] ?? store
  return locale === 'zh'
    ? [
        {
          subject: `数据删除任务正在等待${name}恢复`,
          paragraphs: [
            `自 ${time(since)} 起，${name}没有响应，或者曾保存数据的${name}已被关闭。有 ${runs} 个删除任务正在等待它。`,
            '数据没有丢失。系统会持续重试，存储恢复后一分钟内会自动继续删除，无需重新提交。',
            '请检查该存储是否在运行、网络是否可达、设置是否正确。',
            `${url}/admin/erasures`,
          ],
        },
      ]
    : [
        {
          subject: `Erasures are waiting for the ${name}`,
          paragraphs: [
            `The ${name} has not answered since ${time(since)}, or it contains data and is switched off. ${runs === 1 ? 'One erasure is' : `${runs} erasures are`} waiting for it.`,
            'No data was lost. The system keeps retrying, and the erasures continue automatically within a minute after the store answers again.',
            'Check that the store is running, that the network reaches it, and that its settings are correct.',
            `${url}/admin/erasures`,
          ],
        },
      ]
}

const refusals: Record<Locale, Record<StoreRefusal, string>> = {
  en: {
    credentials: 'It rejects the credentials. Correct them in the settings.',
    access_denied: 'The account in the settings lacks rights. Grant it read and delete access.',
    missing: 'The bucket or database in the settings does not exist. Create it, or correct its name.',
    quota_exceeded: 'Its storage quota or memory is used up. Raise the limit, or free space.',
    locked: 'A lock, a retention rule or missing rights keep former versions. Remove the lock, or grant the right.',
    too_old: 'Its version is too old. Upgrade the server.',
    too_large: 'It has too many keys to be searched. Give the application a database of its own.',
    wrong_tables: 'Its schema has no tables of LangGraph. Run setup(), or correct the schema in the settings.',
  },
  zh: {
    credentials: '它拒绝了凭据。请在设置中更正。',
    access_denied: '设置中的账号权限不足。请授予读取和删除权限。',
    missing: '设置中的存储桶或数据库不存在。请创建它，或更正名称。',
    quota_exceeded: '存储配额或内存已用尽。请提高上限或释放空间。',
    locked: '锁定、保留规则或权限不足使旧版本无法删除。请解除锁定或授予权限。',
    too_old: '版本过低。请升级服务器。',
    too_large: '键过多，无法搜索。请为应用使用单独的数据库。',
    wrong_tables: '其模式中没有 LangGraph 的表。请运行 setup()，或在设置中更正模式。',
  },
}

/** The email to an admin about a store that rejects requests, so that erasures stay stuck until somebody acts. */
export function storeRefusesMail(
  locale: Locale,
  {
    url,
    store,
    runs,
    since,
    refusal,
  }: { url: string; store: string; runs: number; since: Date; refusal: StoreRefusal },
): EmailSections {
  const name = storeNames[locale][store] ?? store
  return locale === 'zh'
    ? [
        {
          subject: `${name}拒绝执行数据删除`,
          paragraphs: [
            `自 ${time(since)} 起，${name}拒绝执行 ${runs} 个删除任务。${refusals.zh[refusal]}`,
            '数据没有丢失，但等待不会解决问题。排除原因后，请在此处重试这些删除任务：',
            `${url}/admin/erasures`,
          ],
        },
      ]
    : [
        {
          subject: `The ${name} rejects erasures`,
          paragraphs: [
            `Since ${time(since)} the ${name} has rejected ${runs === 1 ? 'one erasure' : `${runs} erasures`}. ${refusals.en[refusal]}`,
            'No data was lost, but waiting does not help. Fix the cause, then retry the erasures here:',
            `${url}/admin/erasures`,
          ],
        },
      ]
}
