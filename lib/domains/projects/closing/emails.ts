import type { ProjectLocale } from '#lib/domains/projects/ports.ts'
import { type EmailContent, emailContent, emailTime } from '#lib/stores/mail/email-content.ts'
import type { ClosingEmail } from './rules.ts'

export interface ClosingFacts {
  closesAt: Date
  /** The page of the project. */
  page: string
  /** Link to the certificate; null until its id is reserved. */
  receipt: string | null
}
export type NotifiedClosing = ClosingEmail | 'reopened'

interface Words {
  subject: string
  text(facts: ClosingFacts): string[]
}
// An email may stay in the outbox for days, so it does not name the project, only links to it.
const words: Record<ProjectLocale, Record<NotifiedClosing, Words>> = {
  en: {
    begun: {
      subject: 'A project is closing: its data will be erased in 30 days',
      text: ({ closesAt, page }) => [
        `A project of which you are a member is closing. On ${emailTime(closesAt)} all of its data will be erased in every store: conversations, documents and data derived from them.`,
        'Until then you can read, export and use it as before. An owner of the project, a manager of its organization or an admin can reopen it, which cancels the erasure.',
        page,
      ],
    },
    week: {
      subject: 'The data of a project will be erased in 7 days',
      text: ({ closesAt, page }) => [
        `On ${emailTime(closesAt)} all data of a project of which you are a member will be erased in every store. Export the data that you want to keep before then.`,
        page,
      ],
    },
    day: {
      subject: 'The data of a project will be erased tomorrow',
      text: ({ closesAt, page }) => [
        `On ${emailTime(closesAt)} all data of a project of which you are a member will be erased in every store. This is the last email before the erasure. Export the data that you want to keep, or ask an owner to reopen the project.`,
        page,
      ],
    },
    gone: {
      subject: 'The data of a closed project is being erased',
      text: ({ receipt }) => [
        'The 30 days of a project of which you were a member are over. All of its data is being erased in every store. Afterwards, every store is searched again to verify the erasure.',
        ...(receipt === null
          ? []
          : [
              'When the erasure is verified, you can read the certificate here. Anyone with this link can read it:',
              receipt,
            ]),
      ],
    },
    reopened: {
      subject: 'A project was reopened: its data will not be erased',
      text: ({ page }) => ['A project of which you are a member was reopened. No data was erased.', page],
    },
  },
  zh: {
    begun: {
      subject: '一个项目正在关闭：其数据将在 30 天后删除',
      text: ({ closesAt, page }) => [
        `您参与的一个项目正在关闭。它在所有存储中的全部数据，包括对话、文档及由此产生的内容，将于 ${emailTime(closesAt)} 删除。`,
        '在此之前，您可以照常查看、导出和使用。有权关闭项目的人也可以重新打开它，删除随即取消。',
        page,
      ],
    },
    week: {
      subject: '一个项目的数据将在 7 天后删除',
      text: ({ closesAt, page }) => [
        `您参与的一个项目在所有存储中的全部数据将于 ${emailTime(closesAt)} 删除。需要保留的内容请提前导出。`,
        page,
      ],
    },
    day: {
      subject: '一个项目的数据将于明天删除',
      text: ({ closesAt, page }) => [
        `您参与的一个项目在所有存储中的全部数据将于 ${emailTime(closesAt)} 删除。这是删除前的最后一封邮件。请导出需要保留的内容，或请项目所有者重新打开项目。`,
        page,
      ],
    },
    gone: {
      subject: '已关闭项目的数据正在删除',
      text: ({ receipt }) => [
        '您曾参与的一个项目的 30 天期限已满。它在所有存储中的全部数据正在删除，之后还会再次查找核实。',
        ...(receipt === null ? [] : ['全部核实后，证明可在此查看。持有此链接的人均可查看：', receipt]),
      ],
    },
    reopened: {
      subject: '一个项目已重新打开：其数据保留',
      text: ({ page }) => ['您参与的一个项目已取消关闭。没有任何内容被删除。', page],
    },
  },
}

/** An email to a member about the closing of a project, in their language. */
export function closingEmail(locale: ProjectLocale, closing: NotifiedClosing, facts: ClosingFacts): EmailContent {
  const { subject, text } = words[locale][closing]
  return emailContent(locale, subject, text(facts))
}
