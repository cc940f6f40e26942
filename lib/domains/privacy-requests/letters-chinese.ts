import { letterTime as time } from '#lib/stores/mail/letter.ts'
import { dateOf, groundOf, type LetterFacts, type Words } from './letter-facts.ts'
import type { Kind, RefusalGround } from './rules.ts'

const kindNames: Record<Kind, string> = {
  access: '查阅',
  portability: '数据可携',
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
const cancelling = ({ links }: LetterFacts): string[] =>
  links.cancel === undefined
    ? []
    : ['如要保留您的数据，请打开下面的页面并按下按钮。在删除开始之前都有效。', links.cancel]
const remedies = '您有权向数据保护监管机构投诉，也有权寻求司法救济（GDPR 第 12 条第 4 款、第 77 条、第 79 条）。'

/** By event; an event that is not here is told in no letter. */
export const chinese: Record<string, Words> = {
  received: {
    subject: '我们收到了您的隐私请求',
    text: (_, { kinds, legalDueAt }) => [
      `我们收到了一项请求：${kinds.map((kind) => kindNames[kind]).join('、')}。法定期限为 ${time(legalDueAt)}；确认请求人身份之后，我们力争在 72 小时内完成。`,
    ],
  },
  link_sent: {
    subject: '请确认您的隐私请求',
    text: (_, { links }) =>
      links.verify !== undefined
        ? [
            '请打开下面的页面并按下按钮，确认是您提出的请求。链接只能使用一次，十分钟内有效。',
            links.verify,
            '如果不是您提出的，无需理会：未经确认，什么都不会发生。',
          ]
        : [],
  },
  verified: { subject: '您的隐私请求已确认', text: () => ['已确认该请求是您本人提出的。'] },
  waiting: {
    subject: '您的数据将被删除',
    text: (told, facts) => [
      `删除将于 ${time(facts.waitingUntil ?? dateOf(told.details.until))} 开始。${told.details.shortened === true ? '这早于您选择的时间，因为法定期限更早。' : ''}${
        facts.tokensStop ? '在此之前，智能体的令牌全部停用' : '在此之前，智能体的令牌继续有效'
      }${facts.isAgent ? '' : facts.signInStays ? '，您仍可登录' : '，您的登录会话已结束'}。`,
      ...cancelling(facts),
    ],
  },
  reminded: {
    subject: '您的数据明天将被删除',
    text: (_, facts) => [
      `宽限期将于 ${facts.waitingUntil ? time(facts.waitingUntil) : ''} 结束。此后任何数据都无法恢复。`,
      ...cancelling(facts),
    ],
  },
  expedited: {
    subject: '宽限期已提前结束',
    text: ({ note }) => ['您的请求的宽限期已提前结束，现在开始处理。', ...(note ? [note] : [])],
  },
  running: {
    subject: '您的隐私请求正在处理',
    text: ({ details }) => [details.run_id === undefined ? '您的请求已开始处理。' : '删除已经开始，无法撤回。'],
  },
  verifying: {
    subject: '您的数据已删除，正在核验',
    text: () => ['全部数据已删除。签发回执之前，我们会再次检索每一处存储。'],
  },
  completed: {
    subject: '您的隐私请求已完成',
    text: (_, { receipt, kinds }) => [
      kinds.includes('erasure') ? '全部数据已删除并通过核验。' : '您请求的事项已全部完成。',
      ...(receipt === undefined ? [] : ['这是已签名的删除回执。凭此地址即可查阅，请妥善保存。', receipt]),
    ],
  },
  partly_completed: {
    subject: '您的隐私请求已完成，依法保留的部分除外',
    text: (_, { receipt }) => [
      '除法律保全所涵盖的数据外，全部数据已删除并通过核验。保全结束后，其余数据会自动删除，届时我们会通知您。',
      ...(receipt === undefined ? [] : ['已签名的回执写明保留了什么、为什么保留。', receipt]),
    ],
  },
  cancelled: {
    subject: '您的隐私请求已取消',
    text: (_, { kinds }) => [kinds.includes('erasure') ? '请求已取消。没有删除任何数据，一切照旧。' : '请求已取消。'],
  },
  expired: { subject: '您的隐私请求已过期', text: () => ['一个月内无人确认，我们已将其关闭。您可以随时重新提出。'] },
  rejected: {
    subject: '我们拒绝了您的隐私请求',
    text: ({ details, note }) => [
      `我们拒绝了该请求：${grounds[groundOf(details.ground)]}。`,
      ...(note ? [note] : []),
      remedies,
    ],
  },
  part_refused: {
    subject: '我们拒绝了您隐私请求的一部分',
    text: ({ details, note }) => [
      `我们拒绝了其中一部分：${grounds[groundOf(details.ground)]}。`,
      ...(note ? [note] : []),
      remedies,
    ],
  },
  part_done: {
    subject: '您的隐私请求有一部分已完成',
    text: ({ note }) => ['您请求中的一部分已由人工完成：', ...(note ? [note] : [])],
  },
  failed: {
    subject: '您的隐私请求需要重试',
    text: () => ['其中有一步没有成功。数据没有丢失；管理员已获知并会重试，您无需做任何事。'],
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
    text: ({ details, note }) => [
      details.reason === 'last_admin'
        ? '删除无法开始：您是本系统的最后一位管理员。请先让其他人成为管理员。'
        : '您的请求暂停计时。原因：',
      ...(note ? [note] : []),
    ],
  },
  resumed: {
    subject: '您的隐私请求继续处理',
    text: (_, { legalDueAt }) => [`您的请求继续处理。法定期限现为 ${time(legalDueAt)}。`],
  },
  rectified: { subject: '您的数据已更正', text: () => ['您要求更正的账户信息已更正。'] },
  address_asked: {
    subject: '请确认您的新地址',
    text: () => ['我们已向新地址发出一封信：在那里确认之后，它将取代当前地址。'],
  },
  copy_ready: {
    subject: '您的数据副本已备好',
    text: () => ['您的数据副本已备好，保留四小时，只有您本人登录后可以取得。'],
  },
  copy_failed: { subject: '您的数据副本需要重试', text: () => ['数据副本未能生成。数据没有丢失，管理员会重试。'] },
}
