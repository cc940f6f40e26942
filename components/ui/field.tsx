'use client'

import { type ComponentProps, type ReactNode, useId } from 'react'
import { classNames } from './class-names.ts'

export const inputLook =
  'w-full min-h-10 rounded-box border border-edge bg-raised px-3 py-2 text-base text-ink placeholder:text-quiet aria-invalid:border-red sm:text-body'

interface FieldProps extends ComponentProps<'input'> {
  label: string
  hint?: ReactNode
  /** What is wrong with it, in words. */
  error?: string | undefined
}

/** A labelled input, with what helps to fill it in and what is wrong with it. */
export function Field({ label, hint, error, className, ...rest }: FieldProps) {
  const id = useId()
  const described = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ')
  return (
    <div className="grid gap-1.5">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      <input
        id={id}
        className={classNames(inputLook, className)}
        aria-invalid={error ? true : undefined}
        aria-describedby={described || undefined}
        {...rest}
      />
      {hint && (
        <p id={`${id}-hint`} className="text-sm text-quiet">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="text-sm text-red">
          {error}
        </p>
      )}
    </div>
  )
}
