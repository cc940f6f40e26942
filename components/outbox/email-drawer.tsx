'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { Drawer } from '#components/ui/dialog.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { PlainLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { readOutboxEmail } from '#lib/domains/outbox/contract.ts'

const readAt: Endpoint<typeof readOutboxEmail> = { method: 'get', path: '/api/admin/outbox/{id}' }

/** The text of an email. Its links load only on demand, because anybody who reads one could act as the recipient. */
export function EmailDrawer({ id, onClose }: { id: string | null; onClose: () => void }) {
  const t = useTranslations('outbox')
  return (
    <Drawer open={id !== null} onOpenChange={(isOpen) => !isOpen && onClose()} title={t('letter.body')}>
      {id !== null && <LetterText key={id} id={id} />}
    </Drawer>
  )
}

/** The email with its links. Undefined while a link is hidden: without it, the message is of no use to the recipient. */
export function messageOf(
  text: string | null,
  count: number,
  links: readonly string[] | null | undefined,
): string | undefined {
  if (text === null || (count > 0 && !links)) return undefined
  return text.replace(/‹(\d+)›/g, (mark, number: string) => links?.[Number(number) - 1] ?? mark)
}

/** Ways to forward an email by hand. */
function Forwarding({ to, subject, message }: { to: string; subject: string; message: string }) {
  const t = useTranslations('outbox.letter')
  const [isCopied, setCopied] = useState<boolean>()
  const copy = () =>
    navigator.clipboard.writeText(message).then(
      () => setCopied(true),
      () => setCopied(false),
    )
  const address = `mailto:${encodeURIComponent(to)}?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(message)}`
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Button tone="plain" size="small" onClick={copy}>
        {t('copy')}
      </Button>
      {to !== '' && <PlainLink href={address}>{t('mailApp')}</PlainLink>}
      <span role="status" className="text-sm text-quiet">
        {isCopied !== undefined && t(isCopied ? 'copied' : 'notCopied')}
      </span>
    </div>
  )
}

function LetterText({ id }: { id: string }) {
  const t = useTranslations('outbox')
  const hidden = useApiQuery(readAt, { params: { id }, query: { links: 'hide' } })
  // An action of the person, so it asks for the password where the server needs it.
  const show = useApiMutation(readAt, { isQuiet: true })
  const { problem } = hidden
  if (problem?.code === 'not_found' || problem?.code === 'invalid')
    return <Alert tone="warning" title={t('letter.gone')} />
  if (problem) return <ProblemAlert problem={problem} />
  const letter = hidden.data?.data
  if (!letter) return <Skeleton className="h-40" />
  const links = show.data?.data.links
  const message = messageOf(letter.text, letter.link_count, links)
  return (
    <div className="grid gap-5">
      <FactList
        facts={[
          [t('subject'), <bdi key="subject">{letter.subject || t('noSubject')}</bdi>],
          [t('to'), <bdi key="to">{letter.to || t('nobody')}</bdi>],
          [t('written'), <Time key="written" at={letter.written_at} />],
          [t('expires'), <Time key="expires" at={letter.expires_at} show="relative" />],
        ]}
      />
      {letter.is_cut && <Alert tone="warning" title={t('letter.cut')} />}
      {letter.text === null ? (
        <p className="text-quiet">{t('letter.noText')}</p>
      ) : (
        <div
          data-letter-text
          dir="auto"
          className="rounded-box border border-line bg-raised px-4 py-3 whitespace-pre-wrap [overflow-wrap:anywhere]"
        >
          {letter.text}
        </div>
      )}
      {message !== undefined && !letter.is_cut && (
        <Forwarding to={letter.to} subject={letter.subject} message={message} />
      )}
      {letter.link_count > 0 &&
        (links ? (
          <section aria-label={t('letter.shown')} className="grid gap-2">
            <h3 className="font-medium">{t('letter.shown')}</h3>
            <ol className="grid gap-2">
              {links.map((link, index) => (
                <li key={link}>
                  <CodeBlock code={link} what={t('letter.link', { number: index + 1 })} />
                </li>
              ))}
            </ol>
          </section>
        ) : (
          <div className="grid justify-items-start gap-3">
            <p className="text-quiet">{t('letter.hidden', { count: letter.link_count })}</p>
            {show.problem && <ProblemAlert problem={show.problem} />}
            <Button
              tone="plain"
              size="small"
              aria-disabled={show.isPending}
              onClick={() => show.begin({ params: { id }, query: { links: 'show' } })}
            >
              {t('letter.show')}
            </Button>
          </div>
        ))}
    </div>
  )
}
