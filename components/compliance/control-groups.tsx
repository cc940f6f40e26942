import { useTranslations } from 'next-intl'
import type { Role } from '#lib/domains/accounts/rules.ts'
import type { LineView } from '#lib/domains/compliance/contract.ts'
import { ControlList } from './control-list.tsx'
import { type Result, resultOrder } from './result-tag.tsx'

const folded: readonly Result[] = ['holds', 'not_applicable']

/** All controls by result: problems expanded, the rest collapsed. */
export function ControlGroups({ controls, role }: { controls: readonly LineView[]; role: Role }) {
  const t = useTranslations('compliance')
  const groups = resultOrder.flatMap((result) => {
    const own = controls.filter(({ state }) => state === result)
    return own.length > 0 ? [{ result, own }] : []
  })
  const hasProblem = groups.some(({ result }) => !folded.includes(result))
  return (
    <>
      {!hasProblem && <p className="font-medium">{t('allPass')}</p>}
      {groups.map(({ result, own }) =>
        folded.includes(result) ? (
          <details key={result} id={result} className="grid gap-3">
            <summary className="cursor-pointer py-1">
              <h2 className="inline text-lg font-semibold">{t(`states.${result}`)}</h2>{' '}
              <span className="text-quiet tabular-nums">{own.length}</span>
            </summary>
            <ControlList controls={own} role={role} />
          </details>
        ) : (
          <section key={result} id={result} aria-labelledby={`${result}-title`} className="grid gap-3">
            <h2 id={`${result}-title`} className="text-lg font-semibold">
              {t(`states.${result}`)} <span className="font-normal text-quiet tabular-nums">{own.length}</span>
            </h2>
            <ControlList controls={own} role={role} />
          </section>
        ),
      )}
    </>
  )
}
