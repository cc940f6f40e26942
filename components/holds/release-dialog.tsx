'use client'

import { useTranslations } from 'next-intl'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { countText } from '#components/frame/count-text.ts'
import { listAllRequestsAt } from '#components/queue/endpoints.ts'
import { useRequestWords } from '#components/queue/request-words.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { type Hold, holdPaths, releaseAt } from './endpoints.ts'

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
  const change = useApiMutation(releaseAt, { touches: holdPaths })
  const waiting = useApiQuery(listAllRequestsAt, { query: { hold: hold.id, limit: '20' } })
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
                  shown: countText(common, waiting.data.total, { isFirst: true }),
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
