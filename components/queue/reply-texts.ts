import type { RefusalGround } from '#lib/domains/privacy-requests/rules.ts'

export const replyLanguages = ['en', 'zh'] as const
export type ReplyLanguage = (typeof replyLanguages)[number]
interface ReplyText {
  title: string
  /** Text in square brackets must be replaced before sending. */
  text: string
}
export interface ReplyTemplate extends Record<ReplyLanguage, ReplyText> {
  id: string
  /** For refusals. */
  ground?: RefusalGround
}
/** The dialogs with templates; `rectification` and `objection` are answers, and `answer` closes a request from the form. */
export type TemplateAct = 'answer' | 'refuse' | 'extend' | 'pause' | 'rectification' | 'objection'

/** Proposals for texts to requesters. They are in the language of the requester, not of the console. */
export const replyTemplates: Record<TemplateAct, readonly ReplyTemplate[]> = {
  answer: [
    {
      id: 'no_data',
      en: {
        title: 'No data found',
        text: 'We searched [systems] for your email address and [other details], and found no data about you.',
      },
      zh: {
        title: '未找到数据',
        text: '我们已在[系统]中搜索您的邮箱地址和[其他信息]，没有找到与您有关的数据。',
      },
    },
    {
      id: 'open_request',
      en: {
        title: 'Already an open request',
        text: 'You already have an open request of this kind, which we received on [date]. We answer both requests with it.',
      },
      zh: {
        title: '已有待处理请求',
        text: '您已有一项同类的待处理请求，我们于[日期]收到。两项请求将一并答复。',
      },
    },
  ],
  refuse: [
    {
      id: 'identity',
      ground: 'identity',
      en: {
        title: 'Identity not confirmed',
        text: 'We could not confirm that this request comes from you. You can send it again and confirm it with the link that we email to the address of the account.',
      },
      zh: {
        title: '未能确认身份',
        text: '我们未能确认此请求由您本人提出。您可以再次提出请求，并通过我们发往账户邮箱的链接进行确认。',
      },
    },
    {
      id: 'legal_obligation',
      ground: 'legal_obligation',
      en: {
        title: 'Legal obligation to retain',
        text: 'We cannot delete this data, because [law] obliges us to retain it until [date] (GDPR Art. 17(3)(b)).',
      },
      zh: {
        title: '法定保留义务',
        text: '我们无法删除这些数据，因为[法律]要求我们将其保留至[日期]（GDPR 第 17 条第 3 款 b 项）。',
      },
    },
    {
      id: 'repeated',
      ground: 'excessive',
      en: {
        title: 'Repeated request',
        text: 'We answered the same request on [date], and nothing has changed since. We refuse this repetition as excessive (GDPR Art. 12(5)).',
      },
      zh: {
        title: '重复请求',
        text: '我们已于[日期]答复过相同的请求，此后情况没有变化。此次重复请求属于过度请求，我们予以拒绝（GDPR 第 12 条第 5 款）。',
      },
    },
    {
      id: 'unfounded',
      ground: 'unfounded',
      en: {
        title: 'Manifestly unfounded',
        text: 'We refuse this request as manifestly unfounded (GDPR Art. 12(5)): [reason]',
      },
      zh: {
        title: '明显没有根据',
        text: '此请求明显没有根据，我们予以拒绝（GDPR 第 12 条第 5 款）：[理由]',
      },
    },
    {
      id: 'accurate',
      ground: 'other',
      en: {
        title: 'Data is accurate',
        text: 'We checked the data that you asked us to correct, and it is accurate: [what you checked]',
      },
      zh: {
        title: '数据准确',
        text: '我们核对了您要求更正的数据，数据准确：[核对内容]',
      },
    },
  ],
  extend: [
    {
      id: 'complex',
      en: {
        title: 'Complex request',
        text: 'Your request is complex: [reason]. We therefore need more time to answer it (GDPR Art. 12(3)).',
      },
      zh: {
        title: '请求复杂',
        text: '您的请求较为复杂：[原因]。因此我们需要更多时间答复（GDPR 第 12 条第 3 款）。',
      },
    },
    {
      id: 'numerous',
      en: {
        title: 'Many requests',
        text: 'We received many requests at the same time. We therefore need more time to answer yours (GDPR Art. 12(3)).',
      },
      zh: {
        title: '请求数量众多',
        text: '我们同时收到大量请求，因此需要更多时间答复您的请求（GDPR 第 12 条第 3 款）。',
      },
    },
  ],
  pause: [
    {
      id: 'identity',
      en: {
        title: 'Identity check',
        text: 'We need to confirm your identity before we continue (GDPR Art. 12(6)). Please [what you need]. The deadlines are paused until then; the legal deadline was {deadline}.',
      },
      zh: {
        title: '核实身份',
        text: '我们需要先核实您的身份才能继续（GDPR 第 12 条第 6 款）。请[所需事项]。在此之前，期限暂停计算；原法定期限为{deadline}。',
      },
    },
  ],
  rectification: [
    {
      id: 'corrected',
      en: { title: 'Corrected', text: 'We corrected [what] as you asked.' },
      zh: { title: '已更正', text: '我们已按您的要求更正[内容]。' },
    },
  ],
  objection: [
    {
      id: 'upheld',
      en: {
        title: 'Objection upheld',
        text: 'We agree with your objection. Processing of the data concerned stays restricted.',
      },
      zh: {
        title: '反对成立',
        text: '我们认可您的反对。相关数据将继续限制处理。',
      },
    },
  ],
}

/** What a template takes from the request. */
export interface ReplyFacts {
  name: string | null
  /** The legal deadline. */
  dueAt: string
  /** The address of the deletion receipt, once it is signed. */
  receipt: string | undefined
  /** The titles of the requester’s records that were corrected on this page. */
  corrected: readonly string[]
}
const words = {
  en: {
    greeting: (name: string) => `Dear ${name},`,
    receipt: (url: string) => `Deletion receipt: ${url}`,
    quoted: (title: string) => `“${title}”`,
    and: ', ',
    what: '[what]',
  },
  zh: {
    greeting: (name: string) => `${name}，您好：`,
    receipt: (url: string) => `删除回执：${url}`,
    quoted: (title: string) => `“${title}”`,
    and: '、',
    what: '[内容]',
  },
}
/** The text of a template with the name, the legal deadline, the receipt and what was corrected, as far as they are known. */
export function filledReply(text: string, language: ReplyLanguage, facts: ReplyFacts): string {
  const own = words[language]
  const date = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(facts.dueAt))
  const corrected = facts.corrected.map(own.quoted).join(own.and)
  const told = text
    .replaceAll('{deadline}', () => date)
    .replaceAll(own.what, () => (corrected === '' ? own.what : corrected))
  return [
    ...(facts.name === null ? [] : [own.greeting(facts.name)]),
    told,
    ...(facts.receipt === undefined ? [] : [own.receipt(facts.receipt)]),
  ].join('\n\n')
}

const gaps = new Set(
  Object.values(replyTemplates)
    .flat()
    .flatMap((template) => replyLanguages.flatMap((language) => template[language].text.match(/\[[^[\]]+\]/g) ?? [])),
)
/** The first placeholder of a template that the text still contains. */
export const gapIn = (text: string): string | undefined => text.match(/\[[^[\]]+\]/g)?.find((gap) => gaps.has(gap))
