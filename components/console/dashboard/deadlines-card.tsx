import { useTranslations } from 'next-intl'
import { DueStatusTag } from '#components/queue/due-tag.tsx'
import { Card } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import type { listAllRequests } from '#lib/domains/privacy-requests/queue/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

/** The open requests whose deadline is nearest. */
export function DeadlinesCard({ requests }: { requests: Output<typeof listAllRequests>['data'] }) {
  const t = useTranslations('overview.admin.deadlines')
  const kinds = useTranslations('requestNames.kinds')
  return (
    <Card title={t('title')} actions={<TextLink href="/admin/requests">{t('all')}</TextLink>}>
      {requests.length === 0 ? (
        <p className="text-quiet">{t('none')}</p>
      ) : (
        <ul className="divide-y divide-line">
          {requests.map((request) => (
            <li key={request.id} className="flex flex-wrap items-center gap-x-4 gap-y-1 py-2">
              <TextLink href={`/admin/requests/${request.id}`} className="grow">
                {request.kinds.map((kind) => kinds(kind)).join(', ')}
                {request.subject_name !== null && (
                  <>
                    {' · '}
                    <bdi>{request.subject_name}</bdi>
                  </>
                )}
              </TextLink>
              <DueStatusTag request={request} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}
