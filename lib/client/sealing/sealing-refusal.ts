/**
 * Why data cannot be opened or sealed. A keyring with a changed salt or wrapped key also reports `wrong_passphrase`,
 * because it cannot be distinguished without the key. `damaged` is only reported for detectable damage.
 */
export type SealingCode =
  | 'wrong_passphrase'
  | 'wrong_recovery_code'
  | 'mistyped_recovery_code'
  | 'weak_passphrase'
  | 'refused_parameters'
  | 'damaged'
  | 'other_key'
  | 'too_large'

const words: Record<SealingCode, string> = {
  wrong_passphrase:
    'This passphrase does not open the keyring. Nothing was changed. Try again, or use the recovery code.',
  wrong_recovery_code:
    'This recovery code does not open the keyring. It contains no typing error, so it belongs to another keyring or to one that was replaced.',
  mistyped_recovery_code:
    'The recovery code contains a typing error: its check characters do not match. Compare it with your copy. Nothing was changed.',
  weak_passphrase:
    'The passphrase must have at least 12 characters, because anyone with a copy of the keyring can try any number of passphrases.',
  refused_parameters:
    'The parameters of the keyring are not allowed. Argon2id must use 64 MiB to 1 GiB of memory, 3 to 16 passes and one lane.',
  damaged: 'The sealed data was changed, or does not match its description. Nothing is shown.',
  other_key: 'This was sealed under a different keyring than the open one.',
  too_large: 'The sealed entry is larger than 64 KiB. Split it into two entries.',
}

/** The only error that this module throws for bad input. Its message contains no sealed data. */
export class SealingRefusal extends Error {
  readonly code: SealingCode
  constructor(code: SealingCode) {
    super(words[code])
    this.name = 'SealingRefusal'
    this.code = code
  }
}
