import { useTranslations } from 'next-intl'
import { Card } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Dashboard } from './dashboard-data.ts'

const actions = ['create', 'update', 'delete', 'export'] as const

/** Recent changes and exports by people, from the audit log. */
export function ActivityCard({ activity }: { activity: Dashboard['activity'] }) {
  const t = useTranslations('overview.admin.activity')
  const words = useTranslations('audit.actions')
  const actionOf = (action: string): string => {
    const known = actions.find((one) => one === action)
    return known ? words(known) : action
  }
  return (
    <Card title={t('title')} actions={<TextLink href="/admin/audit">{t('all')}</TextLink>}>
      {activity.length === 0 ? (
        <p className="text-quiet">{t('none')}</p>
      ) : (
        <ol className="divide-y divide-line">
          {activity.map(({ id, at, action, actor_name, resource_type }) => (
            <li key={id} className="flex flex-wrap items-baseline gap-x-2 py-2">
              <bdi className="font-medium">{actor_name ?? t('unknown')}</bdi>
              <span className="grow">
                {actionOf(action)} <code className="font-mono text-[0.8125rem]">{resource_type}</code>
              </span>
              <span className="text-sm text-quiet">
                <Time at={at} show="relative" />
              </span>
            </li>
          ))}
        </ol>
      )}
    </Card>
  )
}
