// Copying a text, also where the page did not come by https: there browsers have no clipboard to be asked, but let somebody who presses a key or a
// button copy.

/** Whether the text has been copied. To be called while a key or a button is being handled. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByEvent(text);
  }
}

function copyByEvent(text: string): boolean {
  let isTaken = false;
  const take = (event: ClipboardEvent) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
    isTaken = event.clipboardData !== null;
  };
  document.addEventListener("copy", take, { capture: true });
  try {
    // Nothing else does it there.
    document.execCommand("copy");
  } finally {
    document.removeEventListener("copy", take, { capture: true });
  }
  return isTaken;
}
