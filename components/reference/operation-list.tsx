import { clsx } from 'clsx'
import { useTranslations } from 'next-intl'
import { operationPage, type ReferenceOperation } from './document.ts'
import { Method } from './method.tsx'

/** Operations as links to their details. */
export function OperationList({
  operations,
  className,
}: {
  operations: readonly ReferenceOperation[]
  className?: string
}) {
  const t = useTranslations('reference')
  return (
    <nav aria-label={t('operations')}>
      <ul className={clsx('grid', className)}>
        {operations.map((operation) => (
          <li key={operation.operationId} className="border-b border-line">
            <a
              href={operationPage(operation)}
              className="grid gap-x-3 px-1 py-1.5 hover:bg-sunken sm:grid-cols-[4rem_minmax(0,1fr)_minmax(0,1fr)]"
            >
              <span>
                <Method method={operation.method} />
              </span>
              <code className="font-mono text-[0.8125rem] [overflow-wrap:anywhere]">{operation.path}</code>
              <span lang="en">{operation.summary}</span>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}
