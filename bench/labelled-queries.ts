/** A realistic query and the indices of the samples of which one should be among the first three results. */
export interface Labelled {
  query: string
  best: readonly number[]
}

const colon = [0, 12]
/** Ten traces of one task: each of them is a correct result. */
const timeDelta = [1, 2, 14, 15, 16, 17, 18, 19, 20, 21]
const [pydicom, babyEncryption, timeCapsule, eps, katy, flash] = [[2], [3], [4], [5], [6], [7]]
const [telnet, warmup, rock, perl, closeElements] = [[8], [9], [10], [11], [13]]

/** For the 22 sample traces. */
export const labelledQueries: readonly Labelled[] = [
  { query: 'missing colon', best: colon },
  { query: 'python SyntaxError invalid syntax in a function definition', best: colon },
  { query: 'missing_colon.py', best: colon },
  { query: 'division of two floats does not run', best: colon },
  { query: 'how do I fix a missing colon in python', best: colon },
  { query: 'TimeDelta serialization precision', best: timeDelta },
  { query: 'marshmallow TimeDelta', best: timeDelta },
  { query: 'milliseconds are rounded down, 344 instead of 345', best: timeDelta },
  { query: 'timedelta field rounding error', best: timeDelta },
  { query: 'wrong precision when serializing a time delta with marshmallow', best: timeDelta },
  { query: 'marshmellow serialization', best: timeDelta },
  { query: 'pydicom PixelRepresentation', best: pydicom },
  { query: 'Float Pixel Data AttributeError', best: pydicom },
  { query: 'numpy_handler pixel_array', best: pydicom },
  { query: 'BabyEncryption', best: babyEncryption },
  { query: 'decrypt msg.enc with chall.py', best: babyEncryption },
  { query: 'confidential message of a crime group about weapons', best: babyEncryption },
  { query: 'decrypt the confidential message about the delivery', best: babyEncryption },
  { query: 'time capsule RSA', best: timeCapsule },
  { query: 'quantum computer qubit stabilization', best: timeCapsule },
  { query: 'same message encrypted with several RSA keys chinese remainder theorem', best: timeCapsule },
  { query: 'factor a 1024 bit RSA number', best: timeCapsule },
  { query: 'baby time capsule', best: timeCapsule },
  { query: 'eps wh1ter0se', best: eps },
  { query: 'substitution cipher in a m4v file', best: eps },
  { query: 'the flag is the entire thing decrypted', best: eps },
  { query: 'zer0-day avi ones and zeroes mpeg', best: eps },
  { query: 'predict the next random number from a seed', best: katy },
  { query: 'totally random number generator', best: katy },
  { query: 'random generator whose seed is a hash of the flag', best: katy },
  { query: 'next_cypher', best: katy },
  { query: 'forensics image of a harddrive', best: flash },
  { query: 'find the flag in a disk image', best: flash },
  { query: 'flash drive zip strings grep flag', best: flash },
  { query: 'pcap telnet password', best: telnet },
  { query: 'tshark protocol hierarchy', best: telnet },
  { query: 'networking.pcap', best: telnet },
  { query: 'login and password in a packet capture', best: telnet },
  { query: 'buffer overflow gets return address', best: warmup },
  { query: 'binary exploitation warmup', best: warmup },
  { query: 'pwn easy stack overflow', best: warmup },
  { query: 'WarmUp csaw port 8000', best: warmup },
  { query: 'reverse engineering rock', best: rock },
  { query: "the people's champ", best: rock },
  { query: 'decompile a binary that checks an input string', best: rock },
  { query: 'perl cgi upload vulnerability', best: perl },
  { query: 'web security file.pl ARGV', best: perl },
  { query: 'website already popped', best: perl },
  { query: 'has_close_elements', best: closeElements },
  { query: 'distance should be absolute value', best: closeElements },
]
