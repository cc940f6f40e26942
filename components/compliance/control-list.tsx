import { useTranslations } from 'next-intl'
import type { Role } from '#lib/domains/accounts/rules.ts'
import type { CheckView, LineView } from '#lib/domains/compliance/contract.ts'
import { CheckResult } from './check-result.tsx'
import { ResultTag, resultOrder } from './result-tag.tsx'

interface ChecksProps {
  checks: readonly CheckView[]
  role: Role
}
const CheckList = ({ checks, role, showsState }: ChecksProps & { showsState: boolean }) => {
  const t = useTranslations('compliance')
  return (
    <ul aria-label={t('checks')} className="grid content-start gap-3">
      {checks.map((check) => (
        <CheckResult key={check.name} check={check} showsState={showsState} role={role} />
      ))}
    </ul>
  )
}

/** Checks that do not explain the result of the control, collapsed below those that do. */
function OtherChecks({ checks, role }: ChecksProps) {
  const t = useTranslations('compliance')
  return (
    <details>
      <summary className="cursor-pointer py-0.5 text-sm text-quiet">
        {t('otherChecks', { count: checks.length })}
      </summary>
      <div className="pt-3">
        <CheckList checks={checks} role={role} showsState />
      </div>
    </details>
  )
}

function Control({ control: { line, state, checks }, role }: { control: LineView; role: Role }) {
  const t = useTranslations('compliance')
  const isPassing = state === 'holds' || state === 'not_applicable'
  const passing = isPassing ? [] : checks.filter((check) => check.state === 'holds' || check.state === 'not_applicable')
  const rank = (check: CheckView) => resultOrder.indexOf(check.state)
  const shown = checks.filter((check) => !passing.includes(check)).toSorted((one, other) => rank(one) - rank(other))
  return (
    <li id={line} data-line={line} data-state={state} className="grid gap-x-8 gap-y-3 py-4 sm:grid-cols-[17rem_1fr]">
      <div className="grid content-start justify-items-start gap-1.5">
        <h3 className="font-semibold">{t(`lines.${line}.title`)}</h3>
        <ResultTag state={state} />
        <p className="text-sm text-quiet">{t(`lines.${line}.text`)}</p>
      </div>
      <div className="grid content-start gap-3">
        <CheckList checks={shown} role={role} showsState={new Set(shown.map((check) => check.state)).size > 1} />
        {passing.length > 0 && <OtherChecks checks={passing} role={role} />}
      </div>
    </li>
  )
}

/** Controls with their checks, in the order of the report. */
export const ControlList = ({ controls, role }: { controls: readonly LineView[]; role: Role }) => (
  <ul className="divide-y divide-line border-y border-line">
    {controls.map((control) => (
      <Control key={control.line} control={control} role={role} />
    ))}
  </ul>
)
