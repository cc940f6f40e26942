import { useTranslations } from 'next-intl'
import { useResourceTypes } from '#components/audit/entry-names.ts'
import { Card } from '#components/ui/page.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { changeHref } from './activity-links.ts'
import type { Dashboard } from './dashboard-data.ts'

const actions = ['create', 'update', 'delete', 'export', 'revoke'] as const

/** Recent changes and exports by people, from the audit log. */
export function ActivityCard({ activity, role }: { activity: Dashboard['activity']; role: Role }) {
  const t = useTranslations('overview.admin.activity')
  const { colon } = usePunctuation()
  const types = useResourceTypes()
  return (
    <Card title={t('title')} actions={<TextLink href="/admin/audit">{t('all')}</TextLink>}>
      {activity.length === 0 ? (
        <p className="text-quiet">{t('none')}</p>
      ) : (
        <ol className="divide-y divide-line">
          {activity.map((change) => (
            <li key={change.id} className="grid grid-cols-[minmax(0,1fr)_auto] items-baseline gap-x-4 py-2">
              <span className="min-w-0">
                <bdi className="font-medium [overflow-wrap:anywhere]">{change.actor_name ?? t('unknown')}</bdi>
                {colon}
                <TextLink href={changeHref(change, role)} tone="ink" className="[overflow-wrap:anywhere]">
                  {t.rich(`acts.${actions.find((one) => one === change.action) ?? 'update'}`, {
                    what: () => (
                      <>
                        {types[change.resource_type] ?? t('other')}
                        {change.resource_name !== null && (
                          <>
                            {' '}
                            <bdi>{change.resource_name}</bdi>
                          </>
                        )}
                      </>
                    ),
                  })}
                </TextLink>
              </span>
              <span className="text-sm text-quiet">
                <Time at={change.at} show="relative" />
              </span>
            </li>
          ))}
        </ol>
      )}
    </Card>
  )
}
