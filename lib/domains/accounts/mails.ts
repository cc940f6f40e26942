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
        `您的智能体所用的一个令牌（以 ${keyPrefix} 开头）已于 ${time(at)} 被吊销，因为它在一小时内三次超出了速率限制。`,
        ...(descendants > 0 ? [`用它创建的 ${descendants} 个令牌也已一并吊销。`] : []),
        '数据没有丢失，其他令牌仍然有效。',
        '请先检查程序为什么发送了这么多请求，再为它创建一个新令牌。如果这些请求不是您发出的，令牌可能已经泄露：吊销是正确的处理。',
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
        `管理员已于 ${time(at)} 导出了智能体 ${agentId} 的数据，其中包含私有内容。导出的依据是为该智能体提交并经确认的查阅或数据可携带请求。`,
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
        `运营者已于 ${time(at)} 重置了您的密码。您的所有登录会话都已结束。`,
        '一次性密码会由运营者另行交给您，登录后请立即更改。您的数据没有变化。',
        '如果您没有提出过这个请求，请联系运营者。',
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
            '请检查该数据存储是否在运行、网络是否可达、设置是否正确。',
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
    access_denied: '设置中的账户权限不足。请授予读取和删除权限。',
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

/** Builds the URL of a link. The code follows `#`, which browsers do not send to servers. */
const linkTo = (url: string, code: string): string => `${url}/password/new#${code}`

/** The email to an invited person. */
export function invitationMail(
  locale: Locale,
  { url, code, organisation, at }: { url: string; code: string; organisation: string; at: Date },
): EmailContent {
  return locale === 'zh'
    ? emailContent(locale, '邀请您加入 KnowledgePulse', [
        `${organisation} 于 ${time(at)} 邀请您在这个 KnowledgePulse 系统中开设账户：${new URL(url).host}。`,
        '在那里，您可以查看、导出、更正和删除与您本人以及您的智能体有关的数据。',
        '请打开下面的链接设置密码。链接只能使用一次，七天内有效。',
        linkTo(url, code),
        '如果您不认识邀请您的人，请忽略此邮件：没有人能用这个账户登录。',
        `我们如何处理您的数据：`,
        `${url}/privacy`,
      ])
    : emailContent(locale, 'You are invited to KnowledgePulse', [
        `${organisation} invited you at ${time(at)} to an account on this installation of KnowledgePulse: ${new URL(url).host}.`,
        'There you can see, export, correct and erase the data about you and your agents.',
        'Open this link and choose a password. It works once, within seven days.',
        linkTo(url, code),
        'If you do not know who invited you, ignore this email: nobody can sign in to the account without the link.',
        'How we process your data:',
        `${url}/privacy`,
      ])
}

/** The email with the link to choose a new password, after somebody requested it. */
export function resetLinkMail(
  locale: Locale,
  { url, code, at }: { url: string; code: string; at: Date },
): EmailContent {
  return locale === 'zh'
    ? emailContent(locale, '设置新密码', [
        `有人于 ${time(at)} 请求为您的账户设置新密码。`,
        '如果是您本人，请打开下面的链接。链接只能使用一次，一小时内有效。设置之后，您的所有登录会话都会结束。',
        linkTo(url, code),
        '如果不是您本人，请忽略此邮件：您的密码没有变化。',
      ])
    : emailContent(locale, 'Choose a new password', [
        `Somebody requested a new password for your account at ${time(at)}.`,
        'If it was you, open this link. It works once, within one hour. All your sessions end when you use it.',
        linkTo(url, code),
        'If it was not you, ignore this email. Your password has not changed.',
      ])
}

/** The email to the owner after a link was used. */
export function passwordSetMail(locale: Locale, { url, at }: { url: string; at: Date }): EmailContent {
  return locale === 'zh'
    ? emailContent(locale, '您的密码已设置', [
        `您的账户密码已于 ${time(at)} 通过我们发送给您的链接设置。所有登录会话都已结束。`,
        '如果是您本人，无需再做什么，用新密码登录即可。',
        '如果不是您本人，说明有人能读到您的邮件：请先保护好邮箱，再在这里请求新的链接，并告诉本系统的运营者。',
        `${url}/password/forgotten`,
      ])
    : emailContent(locale, 'Your password was set', [
        `The password of your account was set at ${time(at)}, by a link that we sent you. All sessions have ended.`,
        'If it was you, sign in with the new password.',
        'If it was not you, somebody else can read your email. Secure your mailbox first, then request a new link here and inform the operator of this installation.',
        `${url}/password/forgotten`,
      ])
}

/** The email to the owner after an identity was linked. */
export function identityLinkedMail(
  locale: Locale,
  { url, provider, at }: { url: string; provider: string; at: Date },
): EmailContent {
  return locale === 'zh'
    ? emailContent(locale, '您的账户关联了新的登录方式', [
        `从 ${time(at)} 起，您也可以用 ${provider} 登录您的账户：它确认了您的邮箱地址。`,
        '如果是您本人，无需再做什么。',
        '如果不是您本人，请在“账户”页解除关联，并告诉本系统的运营者。',
        `${url}/account`,
      ])
    : emailContent(locale, 'Another way to sign in was linked to your account', [
        `Since ${time(at)} you can also sign in to your account with ${provider}: it confirmed your email address.`,
        'If it was you, you do not need to do anything.',
        'If it was not you, unlink it on the Account page and inform the operator of this installation.',
        `${url}/account`,
      ])
}

/**
 * The email to an admin about a shorter retention period, or the closing of a project, that was not carried out, because the account that
 * ordered it has lost the right to. It names nobody, and the project only by its link.
 */
export function orderWithdrawnMail(
  locale: Locale,
  { url, projectId, at }: { url: string; projectId?: string | undefined; at: Date },
): EmailContent {
  const isRetention = projectId === undefined
  const page = isRetention ? `${url}/admin/retention` : `${url}/projects/${projectId}`
  return locale === 'zh'
    ? emailContent(locale, isRetention ? '缩短的保留期限未生效' : '一个项目未关闭', [
        isRetention
          ? `原定生效的较短保留期限已于 ${time(at)} 撤销：设置它的账户已不再是管理员。没有数据因此被删除，审计日志中可查看是哪一项期限。`
          : `一个项目的 30 天期限已满，但它已于 ${time(at)} 重新打开：关闭它的人已无权关闭该项目。没有数据被删除。`,
        isRetention ? '如果仍需缩短期限，请重新设置。' : '如果仍需关闭，请在此重新关闭项目：',
        page,
      ])
    : emailContent(locale, isRetention ? 'A shorter retention period was not applied' : 'A project was not closed', [
        isRetention
          ? `A shorter retention period was withdrawn at ${time(at)}: the account that set it is no longer the account of an admin. It deleted no data. The audit log shows which period it was.`
          : `The 30 days of a closing project are over, but the project was reopened at ${time(at)}: the person who closed it may no longer close it. No data was deleted.`,
        isRetention
          ? 'If the period should be shorter, set it again.'
          : 'If the project should be closed, close it again:',
        page,
      ])
}

interface Facts {
  url: string
  at: Date
}

/** The email to an admin who can decide a proposal. It does not say what was proposed, because emails can be forwarded. */
export function approvalRequestedMail(locale: Locale, { url, at }: Facts): EmailSections {
  return locale === 'zh'
    ? [
        {
          subject: '有一项操作等待您审批',
          paragraphs: [
            `另一位管理员于 ${time(at)} 提出了一项需要审批的操作。72 小时内未批准，申请将过期。`,
            '操作内容请登录后查看：',
            `${url}/admin/approvals`,
          ],
        },
      ]
    : [
        {
          subject: 'An action waits for your approval',
          paragraphs: [
            `Another admin asked for approval of an action at ${time(at)}. If nobody approves it within 72 hours, the proposal expires.`,
            'Sign in to see what would happen:',
            `${url}/admin/approvals`,
          ],
        },
      ]
}

/** The email to the admin who proposed an action. */
export function approvalDecidedMail(
  locale: Locale,
  { url, at, isApproved }: Facts & { isApproved: boolean },
): EmailSections {
  if (locale === 'zh')
    return [
      {
        subject: isApproved ? '您提出的操作已获批准' : '您提出的操作被拒绝',
        paragraphs: [
          isApproved
            ? `另一位管理员已于 ${time(at)} 批准您提出的操作。该操作尚未执行，请在申请过期前执行。`
            : `另一位管理员已于 ${time(at)} 拒绝您提出的操作。未作任何更改。`,
          `${url}/admin/approvals`,
        ],
      },
    ]
  return [
    {
      subject: isApproved ? 'Your proposed action was approved' : 'Your proposed action was rejected',
      paragraphs: [
        isApproved
          ? `Another admin approved an action that you proposed, at ${time(at)}. It has not been carried out yet: do so before the proposal expires.`
          : `Another admin rejected an action that you proposed, at ${time(at)}. Nothing was changed.`,
        `${url}/admin/approvals`,
      ],
    },
  ]
}

type FactorChange = 'added' | 'removed' | 'removed-by-admin' | 'codes-renewed'
const texts: Record<Locale, Record<FactorChange, { subject: string; happened: (at: string) => string }>> = {
  en: {
    added: {
      subject: 'A second factor was added to your account',
      happened: (at) => `A second factor was added to your sign-in at ${at}.`,
    },
    removed: {
      subject: 'A second factor was removed from your account',
      happened: (at) => `A second factor was removed from your sign-in at ${at}.`,
    },
    'codes-renewed': {
      subject: 'Your recovery codes were replaced',
      happened: (at) => `The recovery codes of your sign-in were replaced at ${at}. The former ones no longer work.`,
    },
    'removed-by-admin': {
      subject: 'An admin removed your second factors',
      happened: (at) =>
        `An admin removed all second factors and recovery codes from your sign-in at ${at}. Your password still works.`,
    },
  },
  zh: {
    added: { subject: '您的账户添加了两步验证', happened: (at) => `您的账户已于 ${at} 添加一种两步验证方式。` },
    removed: { subject: '您的账户移除了两步验证', happened: (at) => `您的账户已于 ${at} 移除一种两步验证方式。` },
    'codes-renewed': {
      subject: '您的恢复码已更换',
      happened: (at) => `您账户的恢复码已于 ${at} 更换，原有的恢复码不再有效。`,
    },
    'removed-by-admin': {
      subject: '管理员移除了您的两步验证',
      happened: (at) => `管理员已于 ${at} 移除您账户的全部两步验证方式和恢复码。您的密码仍然有效。`,
    },
  },
}

/** The email to a person whose second factors changed. */
export function secondFactorMail(
  locale: Locale,
  { url, at, change }: { url: string; at: Date; change: FactorChange },
): EmailContent {
  const { subject, happened } = texts[locale][change]
  return emailContent(locale, subject, [
    happened(time(at)),
    locale === 'zh'
      ? '如果这不是您的操作，请立即更改密码、结束其他会话，并联系管理员。'
      : 'If you did not expect this, change your password, end your other sessions, and contact an admin.',
    `${url}/account`,
  ])
}

/** The email that asks a person for a second factor, which is or becomes required. */
export function secondFactorReminderMail(
  locale: Locale,
  { url, at, requiredFrom }: { url: string; at: Date; requiredFrom: Date },
): EmailContent {
  const isAhead = requiredFrom > at
  const page = `${url}/account/second-factor`
  return locale === 'zh'
    ? emailContent(locale, '请为您的账户添加两步验证', [
        isAhead
          ? `自 ${time(requiredFrom)} 起，您的账户必须启用两步验证。届时若仍未添加，登录后只能添加两步验证，以及查阅、导出、删除您自己的数据。`
          : `自 ${time(requiredFrom)} 起，您的账户必须启用两步验证。在添加之前，登录后只能添加两步验证，以及查阅、导出、删除您自己的数据。`,
        '请在此处添加通行密钥或身份验证器应用：',
        page,
      ])
    : emailContent(locale, 'Add a second factor to your account', [
        isAhead
          ? `Your account must have a second factor from ${time(requiredFrom)}. Without one, you can then only add one, and see, export and delete your own data.`
          : `Your account has been required to have a second factor since ${time(requiredFrom)}. Until you add one, you can only do that, and see, export and delete your own data.`,
        'Add a passkey or an authenticator app here:',
        page,
      ])
}
