// A link has all texts in its fragment, compressed: browsers do not send fragments.
const FORMAT = 'v1.';
const LONGEST_LINK = 16_000; // characters that chats and mail programs keep
const LARGEST_TEXT = 1 << 20; // bytes that a link may unpack to

// encode returns the fragment for texts by file name.
export async function encode(texts) {
  const packed = new Response(new Blob([JSON.stringify(texts)]).stream().pipeThrough(new CompressionStream('deflate-raw')));
  const bytes = new Uint8Array(await packed.arrayBuffer());
  const text = FORMAT + btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  if (text.length > LONGEST_LINK) {
    throw new Error(`The text is too long for a link: ${text.length} characters, at most ${LONGEST_LINK} are possible. Remove what is not needed, such as descriptions in CRDs.`);
  }
  return text;
}

// decode returns the texts of a fragment.
export async function decode(fragment) {
  try {
    if (!fragment.startsWith(FORMAT)) {
      throw new Error('its format is unknown');
    }
    const binary = atob(fragment.slice(FORMAT.length).replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
    const texts = JSON.parse(await unpack(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))));
    if (typeof texts !== 'object' || texts === null || Object.values(texts).some((text) => typeof text !== 'string')) {
      throw new Error('it has no texts');
    }
    return texts;
  } catch (error) {
    throw new Error(`The link cannot be read: ${error.message || 'it is incomplete'}. Copy all of it, or ask for a new one.`);
  }
}

async function unpack(stream) {
  const decoder = new TextDecoder();
  let text = '', size = 0;
  for (const reader = stream.getReader(); ; ) {
    const {done, value} = await reader.read();
    if (done) {
      return text + decoder.decode();
    }
    size += value.length;
    if (size > LARGEST_TEXT) {
      await reader.cancel();
      throw new Error(`it has more than ${LARGEST_TEXT >> 10} KiB`);
    }
    text += decoder.decode(value, {stream: true});
  }
}
