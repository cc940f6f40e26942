'use client'

import { useTranslations } from 'next-intl'
import { useAsked, useChange } from '#components/frame/asking.ts'
import { counted } from '#components/frame/counted.ts'
import { listAt } from '#components/queue/places.ts'
import { useRequestWords } from '#components/queue/request-words.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { type Hold, releaseAt, touched } from './places.ts'

interface ReleaseDialogProps {
  hold: Hold
  close: () => void
  done: () => void
}
/** Confirms the release of a hold. Lists the requests that then resume and what cannot be undone. */
export function ReleaseDialog({ hold, close, done }: ReleaseDialogProps) {
  const t = useTranslations('holds.releasing')
  const common = useTranslations('common')
  const words = useRequestWords()
  const change = useChange(releaseAt, { touches: touched })
  const waiting = useAsked(listAt, { query: { hold: hold.id, limit: '20' } })
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && close()}
      title={t('title', { target: hold.target_id })}
      consequences={
        <>
          <p>{t('text')}</p>
          <p role="status">
            {waiting.data
              ? t('requests', {
                  count: waiting.data.total,
                  shown: counted(common, waiting.data.total, { isFirst: true }),
                })
              : t('counting')}
          </p>
          {waiting.data && waiting.data.data.length > 0 && (
            <ul className="grid gap-1">
              {waiting.data.data.map((request) => (
                <li key={request.id}>
                  <TextLink href={`/admin/requests/${request.id}`}>{words.whole(request)}</TextLink>
                </li>
              ))}
            </ul>
          )}
          <p>{t('undone')}</p>
        </>
      }
      action={t('action')}
      change={{ ...change, problem: change.problem ?? waiting.problem }}
      isIncomplete={waiting.data === undefined}
      onConfirm={() => change.begin({ params: { id: hold.id } }, done)}
    />
  )
}
