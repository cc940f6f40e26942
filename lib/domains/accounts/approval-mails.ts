import { type EmailSections, emailTime as time } from '#lib/stores/mail/email-content.ts'
import type { Locale } from './rules.ts'

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
