import { useTranslations } from 'next-intl'
import { useSentences } from '#components/audit/sentences.ts'
import { Card } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { changeHref } from './activity-links.ts'
import type { Dashboard } from './dashboard-data.ts'

/** Recent changes and exports by people, from the audit log, one sentence each. */
export function ActivityCard({ activity, role }: { activity: Dashboard['activity']; role: Role }) {
  const t = useTranslations('overview.admin.activity')
  const { sentenceOf } = useSentences()
  return (
    <Card title={t('title')} actions={<TextLink href="/admin/audit">{t('all')}</TextLink>}>
      {activity.length === 0 ? (
        <p className="text-quiet">{t('none')}</p>
      ) : (
        <ol className="divide-y divide-line">
          {activity.map((change) => {
            const [first] = change.act.parts
            return (
              <li key={change.id} className="grid grid-cols-[minmax(0,1fr)_auto] items-baseline gap-x-4 py-2">
                <TextLink href={changeHref(change, role)} className="min-w-0 [overflow-wrap:anywhere]">
                  {first && sentenceOf(first, change.act)}
                </TextLink>
                <span className="text-sm text-quiet">
                  <Time at={change.at} show="relative" />
                </span>
              </li>
            )
          })}
        </ol>
      )}
    </Card>
  )
}
