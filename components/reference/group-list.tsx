import { useTranslations } from 'next-intl'
import { TextLink } from '#components/ui/text-link.tsx'
import { groupPage, type ReferenceGroup } from './document.ts'

/** All groups of operations, each with its page. */
export function GroupList({ groups }: { groups: readonly ReferenceGroup[] }) {
  const t = useTranslations('reference')
  return (
    <nav aria-label={t('groups')}>
      <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
        {groups.map(({ name, description, operations }) => (
          <li key={name} className="grid content-start gap-0.5 rounded-box border border-line bg-raised px-4 py-3">
            <p className="flex items-baseline justify-between gap-3" lang="en">
              <TextLink href={groupPage(name)} className="font-medium">
                {name}
              </TextLink>
              <span className="text-sm text-quiet tabular-nums">{operations.length}</span>
            </p>
            <p className="text-sm text-quiet" lang="en">
              {description}
            </p>
          </li>
        ))}
      </ul>
    </nav>
  )
}
