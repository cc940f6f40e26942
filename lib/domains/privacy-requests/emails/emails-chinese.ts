import type { RefusalGround, RequestKind } from '#lib/domains/privacy-requests/rules.ts'
import { emailTime as time } from '#lib/stores/mail/email-content.ts'
import { dateOf, type EmailFacts, type EmailWords, groundOf, isHandedOver } from './email-facts.ts'

export const kindNames: Record<RequestKind, string> = {
  access: '查阅',
  portability: '数据可携带',
  rectification: '更正',
  restriction: '限制处理',
  objection: '反对处理',
  erasure: '删除',
}
const grounds: Record<RefusalGround, string> = {
  unfounded: '请求明显没有根据',
  excessive: '请求过度',
  identity: '我们无法确认请求人的身份',
  legal_obligation: '法律要求我们保留这些数据',
  other: '原因见下文',
}
const cancelling = ({ links, isAgent }: EmailFacts): string[] =>
  links.cancel === undefined
    ? []
    : [
        `如要保留${isAgent ? '该智能体及其' : '您的'}数据，请打开下面的页面并点击按钮。在删除开始之前都有效。`,
        links.cancel,
      ]
const remedies = '您有权向数据保护监管机构投诉，也有权寻求司法救济（GDPR 第 12 条第 4 款、第 77 条、第 79 条）。'

/** Names the agent of an agent's request if its id is still stored. */
const agentOf = ({ agentId }: EmailFacts): string => (agentId === null ? '该智能体' : `智能体 ${agentId} `)
const others = ({ redacts }: Pick<EmailFacts, 'redacts'>): string[] =>
  redacts ? ['届时还会从您各项目的知识图谱里他人所写的内容中移除您的姓名和邮箱地址。'] : []
const questions = ({ privacyEmail }: EmailFacts): string[] =>
  privacyEmail === null ? [] : [`如有疑问，请发送邮件至 ${privacyEmail}。`]
const stayNames: Partial<Record<RequestKind, string>> = {
  rectification: '已更正的内容',
  restriction: '限制处理（直至您自行解除）',
  objection: '因反对处理而生效的限制',
}
const lifted = '因反对处理而施加的限制已解除：智能体可以重新写入，除非另有限制处理的请求。'

/** What works during the grace period. */
/** How a participant gets the copy: with the link in this email, or from the organization. */
const handedOver = ({ statusPage }: Pick<EmailFacts, 'statusPage'>): string =>
  statusPage === undefined
    ? '您的数据副本已备好，由该组织交付给您。'
    : '您的数据副本已备好。身份核实后的 30 天内，您可以在状态页下载。任何持有下方链接的人也能下载。'

const untilErasure = ({ tokensStop, isAgent, signInStays }: EmailFacts): string =>
  `在此之前，${isAgent ? '该智能体' : '智能体'}的令牌${tokensStop ? '全部停用' : '继续有效'}${
    isAgent ? '' : signInStays ? '，您仍可登录' : '，您的登录会话已结束'
  }。`

/** Texts by event; other events are not emailed. */
export const chinese: Record<string, EmailWords> = {
  received: {
    subject: '我们收到了您的隐私请求',
    text: (_, facts) => [
      `我们收到了一项请求：${facts.kinds.map((kind) => kindNames[kind]).join('、')}。法定期限为 ${time(facts.legalDueAt)}${
        facts.isUnconnected
          ? '。接下来我们会核对是否以及在何处处理您的数据；在披露、更改或删除任何数据之前，我们会核实您的身份。'
          : '；确认请求人身份之后，我们力争在 72 小时内完成。'
      }`,
      ...questions(facts),
    ],
  },
  link_sent: {
    subject: '请确认您的隐私请求',
    text: (_, { links, kinds, isAgent, agentId, ifConfirmed, ...facts }) =>
      links.verify !== undefined
        ? [
            `您将确认的请求：${kinds.map((kind) => kindNames[kind]).join('、')}${isAgent && agentId !== null ? `（智能体 ${agentId}）` : ''}。`,
            ...(ifConfirmed === null
              ? []
              : [
                  ifConfirmed.isAtOnce
                    ? '一经确认，删除立即开始，且无法撤销。'
                    : `如果现在确认，删除将于 ${time(ifConfirmed.at)} 开始；在此之前您可以取消。`,
                ]),
            ...others(facts),
            '请打开下面的页面并点击按钮，确认该请求由您提出。链接只能使用一次，十分钟内有效。',
            links.verify,
            '如果不是您提出的，请忽略此邮件。未经您确认，我们不会进行任何操作。',
          ]
        : [],
  },
  verified: { subject: '您的隐私请求已确认', text: () => ['已确认该请求是您本人提出的。'] },
  waiting: {
    subject: ({ isAgent }) => (isAgent ? '您的一个智能体的数据将被删除' : '您的数据将被删除'),
    text: (entry, facts) => [
      `${facts.isAgent ? `${agentOf(facts)}及其全部数据的` : ''}删除将于 ${time(facts.waitingUntil ?? dateOf(entry.details.until))} 开始。${entry.details.shortened === true ? '这早于您选择的时间，因为法定期限更早。' : ''}${facts.isParticipant ? '' : untilErasure(facts)}`,
      ...(facts.waitsForCopy ? ['删除还会等待您所要的数据副本：直到您下载副本，或副本在备好四小时后过期。'] : []),
      ...others(facts),
      ...(entry.details.by === 'token'
        ? ['这是由该智能体的一个令牌提出的。如果并非出自您的意愿，请取消请求并吊销该令牌。']
        : entry.details.by === 'admin'
          ? ['请求人的身份由管理员确认。如果不是您提出的请求，请取消。']
          : entry.details.by === 'manager'
            ? ['使用该应用的组织代您提出了此请求。如果并非出自您的意愿，请取消。']
            : []),
      ...cancelling(facts),
    ],
  },
  reminded: {
    subject: ({ isAgent }) => (isAgent ? '您的一个智能体的数据明天将被删除' : '您的数据明天将被删除'),
    text: (_, facts) => [
      `${facts.isAgent ? `删除${agentOf(facts)}的` : ''}宽限期将于 ${facts.waitingUntil ? time(facts.waitingUntil) : ''} 结束。此后任何数据都无法恢复。`,
      ...cancelling(facts),
    ],
  },
  expedited: {
    subject: ({ hasBegun }) => (hasBegun ? '宽限期已提前结束' : '宽限期已缩短'),
    text: ({ details, note }, facts) => [
      typeof details.until === 'string'
        ? `管理员缩短了您的请求的宽限期。删除将于 ${time(dateOf(details.until))} 开始。`
        : details.copies === 'wait'
          ? '您的请求的宽限期已提前结束。您所要的数据副本被下载或过期之后，删除随即开始。'
          : '您的请求的宽限期已提前结束，现在开始处理。',
      ...(details.copies === 'dropped' ? ['您所要的数据副本尚未下载：它不再保留，将一并删除。'] : []),
      ...(note ? [note] : []),
      ...cancelling(facts),
    ],
  },
  running: {
    subject: '您的隐私请求正在处理',
    text: ({ details }) => [details.run_id === undefined ? '您的请求已开始处理。' : '删除已经开始，无法取消。'],
  },
  verifying: {
    subject: ({ isAgent }) => (isAgent ? '您的一个智能体的数据已删除，正在核验' : '您的数据已删除，正在核验'),
    text: (_, facts) => [
      `${facts.isAgent ? `${agentOf(facts)}的` : ''}数据已删除。签发回执之前，我们会按 ID 和索引再次搜索每个数据存储。`,
    ],
  },
  completed: {
    subject: '您的隐私请求已完成',
    text: ({ details }, { receipt, kinds, isAgent, ...facts }) => [
      details.by === 'erasure'
        ? '该请求的其余部分由您范围更大的删除一并处理，该删除已经开始。'
        : kinds.includes('erasure')
          ? `${isAgent ? '该智能体' : '您'}的数据已删除，并已按 ID 和索引再次搜索每个数据存储。一天之内，我们还会完整读取已连接的存储，并将结果补充到回执。`
          : isHandedOver({ ...facts, kinds })
            ? handedOver(facts)
            : '您请求的事项已全部完成。',
      ...(receipt === undefined
        ? []
        : ['已签名的回执列明已删除的内容、保留的数据及其原因。凭此地址即可查阅，请妥善保存。', receipt]),
    ],
  },
  partly_completed: {
    subject: '您的隐私请求已完成，依法保留的部分除外',
    text: (_, { receipt }) => [
      '除法律保全所涵盖的数据外，数据已删除并通过核验。保全结束后，其余数据会自动删除，届时我们会通知您。',
      ...(receipt === undefined ? [] : ['已签名的回执列明保留的数据及其原因。', receipt]),
    ],
  },
  kept_whole: {
    subject: '没有删除任何数据：法律保全仍在生效',
    text: (_, { isAgent }) => [
      '我们未能删除任何数据：法律保全涵盖了全部数据，法律要求或允许我们保留这些数据（GDPR 第 17 条第 3 款 b 项和 e 项）。由于没有删除任何数据，因此没有回执。',
      `${isAgent ? '该智能体及其令牌照常可用' : '您可以照常登录，您的智能体的令牌照常可用'}。保全结束后，删除会自动开始，不再有宽限期；届时我们会通知您。`,
      remedies,
    ],
  },
  cancelled: {
    subject: '您的隐私请求已取消',
    text: ({ details }, { kinds, stays }) =>
      details.by === 'erasure'
        ? ['该请求已关闭，因为它现已并入您范围更大的删除，该删除已经开始。']
        : [
            kinds.includes('erasure') ? '删除请求已取消；此请求没有删除任何数据。' : '请求已取消。',
            ...(stays.length > 0
              ? [`此前已经完成的仍然有效：${stays.map((kind) => stayNames[kind] ?? kindNames[kind]).join('；')}。`]
              : []),
          ],
  },
  expired: { subject: '您的隐私请求已过期', text: () => ['一个月内无人确认，我们已将其关闭。您可以随时重新提出。'] },
  rejected: {
    subject: '我们拒绝了您的隐私请求',
    // When the last part was refused, the email about that part already states the reason.
    text: ({ details, note }, facts) =>
      details.ground === undefined
        ? questions(facts)
        : [
            `我们拒绝了该请求：${grounds[groundOf(details.ground)]}。`,
            ...(note ? [note] : []),
            ...(details.lifted === true ? [lifted] : []),
            remedies,
            ...questions(facts),
          ],
  },
  part_refused: {
    subject: '我们拒绝了您隐私请求的一部分',
    text: ({ details, note }) => [
      `我们拒绝了其中一部分：${grounds[groundOf(details.ground)]}。`,
      ...(note ? [note] : []),
      ...(details.lifted === true ? [lifted] : []),
      remedies,
    ],
  },
  answered: {
    subject: '您的隐私请求已答复',
    text: ({ note }, facts) => [
      '管理员对您的请求作出了答复：',
      ...(note ? [note] : []),
      '该请求已关闭。答复会在状态页上保留 30 天。',
      remedies,
      ...questions(facts),
    ],
  },
  form_joined: {
    subject: '您的说明已加入隐私请求',
    text: (_, facts) => [
      `您已有一项同类的待处理请求，我们已将您的说明加入其中。法定期限为 ${time(facts.legalDueAt)}。`,
      ...questions(facts),
    ],
  },
  part_done: {
    subject: '您的隐私请求有一部分已完成',
    text: ({ note }, { ifConfirmed }) => [
      '您请求中的一部分已由人工完成：',
      ...(note ? [note] : []),
      ...(ifConfirmed ? ['重新确认请求人的身份之前，删除不会开始。'] : []),
    ],
  },
  failed: {
    subject: '您的隐私请求需要重试',
    text: (_, { hasBegun }) => [
      `请求的一部分处理失败。${hasBegun ? '已删除的不会恢复，其余部分会重试' : '数据没有丢失，我们会重试'}；我们会通知管理员，您无需进行任何操作。`,
    ],
  },
  extended: {
    subject: '您的隐私请求需要更长时间',
    text: ({ details, note }) => [
      `我们需要延长至 ${time(dateOf(details.until))}（GDPR 第 12 条第 3 款）。原因：`,
      ...(note ? [note] : []),
      remedies,
    ],
  },
  paused: {
    subject: '您的隐私请求已暂停',
    text: ({ note }) => ['您的请求及其期限已暂停。原因：', ...(note ? [note] : [])],
  },
  blocked: {
    subject: '您的删除暂时无法开始',
    text: () => ['您是本系统的最后一位管理员。请让其他人成为管理员，删除随后会自动开始。在此期间法定期限继续计算。'],
  },
  doubted: {
    subject: '您的删除请求需要重新确认身份',
    text: (_, facts) => [
      `确认请求人身份的人员已无权确认，因此删除没有开始。管理员会重新核实身份，之后重新计算宽限期。法定期限为 ${time(facts.legalDueAt)}。`,
      '如果该请求不是您提出的，请取消它。',
      ...questions(facts),
    ],
  },
  resumed: {
    subject: '您的隐私请求继续处理',
    text: (_, { legalDueAt }) => [`您的请求继续处理。法定期限现为 ${time(legalDueAt)}。`],
  },
  rectified: { subject: '您的数据已更正', text: () => ['您要求更正的账户信息已更正。'] },
  address_asked: {
    subject: '请确认您的新邮箱',
    text: () => ['我们已向新邮箱发送确认邮件。您在该邮件中确认后，新邮箱将取代当前邮箱。'],
  },
  address_moved: {
    subject: '有关您隐私请求的邮件今后发送到此邮箱',
    text: (_, facts) => [
      '账户的邮箱地址已更改。有关此请求的邮件今后发送到此邮箱，此前邮件中的链接全部失效。如果请求尚待确认，请重新获取链接。',
      ...cancelling(facts),
    ],
  },
  copy_ready: {
    subject: '您的数据副本已备好',
    text: (_, { waitsForCopy, waitingUntil, isClosed, privacyEmail }) => [
      isClosed
        ? `您的数据副本已备好。您的账户已停用，因此无法登录下载：请${privacyEmail === null ? '联系本系统的运营者' : `发送邮件至 ${privacyEmail}`}，以便用其他方式交给您。副本保留四小时，之后可以重新制作。`
        : '您的数据副本已备好，保留四小时，只有您本人登录后可以下载。',
      ...(waitsForCopy
        ? [
            `您下载副本或四小时期满之后，您请求的删除随即开始${waitingUntil ? `，但不会早于 ${time(waitingUntil)}` : ''}。`,
          ]
        : []),
    ],
  },
  copy_failed: {
    subject: '您的数据副本需要重试',
    text: (_, { waitsForCopy }) => [
      `数据副本未能生成。数据没有丢失：我们会通知管理员并重试。${waitsForCopy ? '删除会等待副本；如果您不需要副本，请发送邮件告诉我们。' : ''}您无需进行任何操作。`,
    ],
  },
}
