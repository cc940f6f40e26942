'use client'

import { useTranslations } from 'next-intl'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { requestPollInterval } from '#components/requests/request-rules.ts'
import { requestTones } from '#components/requests/request-tones.ts'
import { TimeLeft } from '#components/requests/time-left.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Badge } from '#components/ui/badge.tsx'
import { Button, PlainButtonLink } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { DataTable } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import {
  cancelAt,
  type ParticipantRequest,
  type ParticipantRequests,
  participantPaths,
  requestsAt,
} from './endpoints.ts'

/** The path of the copy that a request for access or portability made available. */
const copyOf = ({ parts }: ParticipantRequest): string | undefined =>
  parts.map(({ outcome }) => outcome.export).find((path) => typeof path === 'string')

interface RequestListProps {
  projectId: string
  participantId: string
  initial: ParticipantRequests
  mayCancel: boolean
}
/** The privacy requests about a participant. While a request runs, the list refreshes; once they are erased, it says so. */
export function ParticipantRequestList({ projectId, participantId, initial, mayCancel }: RequestListProps) {
  const t = useTranslations('participants.requests')
  const names = useTranslations('requestNames')
  const punctuation = usePunctuation()
  const params = { projectId, participantId }
  const list = useApiQuery(
    requestsAt,
    { params },
    {
      initial,
      every: (data) => {
        const paces = (data ?? initial).data
          .map((one) => requestPollInterval(one, null))
          .filter((wait) => wait !== false)
        return paces.length === 0 ? false : Math.min(...paces)
      },
    },
  )
  const cancelling = useApiMutation(cancelAt, { touches: participantPaths })
  const rows = (list.data ?? initial).data
  if (list.problem?.code === 'not_found') {
    const receipt = rows.find(({ kinds, receipt_id }) => kinds.includes('erasure') && receipt_id !== null)?.receipt_id
    return (
      <Alert tone="done" title={t('erased')} isLive>
        {receipt && (
          <p>
            <TextLink href={`/receipts/${receipt}`} prefetch={false}>
              {t('receipt')}
            </TextLink>
          </p>
        )}
      </Alert>
    )
  }
  if (rows.length === 0) return <p className="text-quiet">{t('none')}</p>
  return (
    <div className="grid gap-3">
      {cancelling.problem && <ProblemAlert problem={cancelling.problem} />}
      <DataTable
        label={t('list')}
        rows={rows}
        rowKey={({ id }) => id}
        columns={[
          {
            key: 'kinds',
            title: t('columns.kinds'),
            main: true,
            cell: ({ kinds }) => punctuation.list(kinds.map((kind) => names(`kinds.${kind}`))),
          },
          {
            key: 'state',
            title: t('columns.state'),
            cell: ({ state }) => <Badge tone={requestTones[state]}>{names(`states.${state}`)}</Badge>,
          },
          {
            key: 'due',
            title: t('columns.due'),
            cell: (row) => (row.closed_at === null ? <TimeLeft {...row} /> : '–'),
          },
          { key: 'received', title: t('columns.received'), cell: ({ received_at }) => <Time at={received_at} /> },
          {
            key: 'actions',
            title: t('columns.actions'),
            isTitleHidden: true,
            cell: (row) => {
              const copy = copyOf(row)
              return (
                <span className="flex flex-wrap gap-2">
                  {copy !== undefined && (
                    <PlainButtonLink tone="plain" size="small" href={copy} download>
                      {t('copy')}
                    </PlainButtonLink>
                  )}
                  {row.can_cancel && mayCancel && (
                    <Button
                      tone="plain"
                      size="small"
                      aria-disabled={cancelling.isPending}
                      onClick={() => cancelling.begin({ params: { ...params, id: row.id } })}
                    >
                      {t('cancel')}
                    </Button>
                  )}
                </span>
              )
            },
          },
        ]}
      />
    </div>
  )
}
