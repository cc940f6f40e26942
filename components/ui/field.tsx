'use client'

import { clsx } from 'clsx'
import { type ComponentProps, type ReactNode, useId } from 'react'

const boxLook =
  'w-full rounded-lg border border-edge bg-raised px-3 py-1.5 text-base text-ink placeholder:text-quiet aria-invalid:border-red sm:text-body'
export const inputLook = `${boxLook} min-h-10`

interface Labelled {
  label: string
  hint?: ReactNode
  /** The validation message. */
  error?: string | undefined
  /** Shows the label only to screen readers. */
  isLabelHidden?: boolean | undefined
}
interface Described {
  id: string
  'aria-invalid': true | undefined
  'aria-describedby': string | undefined
}

function Frame({
  label,
  hint,
  error,
  isLabelHidden,
  children,
}: Labelled & { children: (own: Described) => ReactNode }) {
  const id = useId()
  const described = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ')
  return (
    <div className="grid min-w-0 content-start gap-1.5">
      <label htmlFor={id} className={isLabelHidden ? 'sr-only' : 'font-medium'}>
        {label}
      </label>
      {children({ id, 'aria-invalid': error ? true : undefined, 'aria-describedby': described || undefined })}
      {hint && (
        <div id={`${id}-hint`} className="text-sm text-quiet">
          {hint}
        </div>
      )}
      {error && (
        <p id={`${id}-error`} className="text-sm text-red">
          {error}
        </p>
      )}
    </div>
  )
}

/** A labelled input with hint and error. */
export const Field = ({
  label,
  hint,
  error,
  isLabelHidden,
  className,
  ...rest
}: Labelled & ComponentProps<'input'>) => (
  <Frame {...{ label, hint, error, isLabelHidden }}>
    {(own) => <input className={clsx(inputLook, className)} {...own} {...rest} />}
  </Frame>
)

/** Like {@link Field}, for an ID or another code: no browser corrects it. */
export const CodeField = ({ className, ...rest }: ComponentProps<typeof Field>) => (
  <Field
    autoComplete="off"
    autoCapitalize="none"
    spellCheck={false}
    className={clsx('font-mono', className)}
    {...rest}
  />
)

/** Like {@link Field}, for several lines; it grows with its text. */
export const TextArea = ({
  label,
  hint,
  error,
  isLabelHidden,
  className,
  ...rest
}: Labelled & ComponentProps<'textarea'>) => (
  <Frame {...{ label, hint, error, isLabelHidden }}>
    {(own) => (
      <textarea
        rows={4}
        className={clsx(boxLook, 'field-sizing-content max-h-96 min-h-24', className)}
        {...own}
        {...rest}
      />
    )}
  </Frame>
)

interface SelectProps extends Labelled, ComponentProps<'select'> {
  options: readonly { value: string; title: string }[]
}
/** The browser's own select, which works with every keyboard and phone. */
export const Select = ({ label, hint, error, isLabelHidden, className, options, ...rest }: SelectProps) => (
  <Frame {...{ label, hint, error, isLabelHidden }}>
    {(own) => (
      <select className={clsx(inputLook, 'pr-8', className)} {...own} {...rest}>
        {options.map(({ value, title }) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    )}
  </Frame>
)

interface CheckboxProps extends Omit<ComponentProps<'input'>, 'type'> {
  label: ReactNode
  hint?: ReactNode
}
export function Checkbox({ label, hint, className, ...rest }: CheckboxProps) {
  const id = useId()
  return (
    <div className={clsx('flex items-start gap-2.5', className)}>
      <input
        id={id}
        type="checkbox"
        className="mt-1 size-4 shrink-0 accent-accent"
        aria-describedby={hint ? `${id}-hint` : undefined}
        {...rest}
      />
      <div className="grid min-w-0 gap-0.5">
        <label htmlFor={id}>{label}</label>
        {hint && (
          <div id={`${id}-hint`} className="text-sm text-quiet">
            {hint}
          </div>
        )}
      </div>
    </div>
  )
}

interface ChoiceProps<V extends string> {
  label: string
  name: string
  value: V | undefined
  options: readonly { value: V; title: ReactNode; text?: ReactNode; isDisabled?: boolean }[]
  onChange: (value: V) => void
  isLabelHidden?: boolean
  /** Side by side on wide screens: for short options without an explanation. */
  isInRow?: boolean
}
/** Radio buttons; each option may have an explanation. */
export function Choice<V extends string>({
  label,
  name,
  value,
  options,
  onChange,
  isLabelHidden,
  isInRow,
}: ChoiceProps<V>) {
  const id = useId()
  return (
    <fieldset className={clsx('grid min-w-0 gap-2', isInRow && 'sm:grid-cols-[repeat(auto-fit,minmax(9rem,1fr))]')}>
      <legend className={isLabelHidden ? 'sr-only' : 'mb-2 font-medium'}>{label}</legend>
      {options.map((option) => (
        <div
          key={option.value}
          className="relative flex gap-3 rounded-box border border-line bg-raised px-4 py-3 has-checked:border-accent has-checked:bg-accent-wash has-disabled:opacity-60"
        >
          <input
            type="radio"
            id={`${id}-${option.value}`}
            name={name}
            value={option.value}
            checked={option.value === value}
            disabled={option.isDisabled}
            onChange={() => onChange(option.value)}
            aria-describedby={option.text ? `${id}-${option.value}-text` : undefined}
            className="relative z-1 mt-1 size-4 shrink-0 accent-accent"
          />
          <div className="grid min-w-0 gap-0.5">
            <label htmlFor={`${id}-${option.value}`} className="font-medium after:absolute after:inset-0">
              {option.title}
            </label>
            {option.text && (
              <div id={`${id}-${option.value}-text`} className="text-sm text-quiet">
                {option.text}
              </div>
            )}
          </div>
        </div>
      ))}
    </fieldset>
  )
}
