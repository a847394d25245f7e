// A list that opens below a button, and closes by Escape, by a press elsewhere, or when the focus leaves it.

export class Popup {
  constructor(
    private button: HTMLElement,
    private list: HTMLElement,
  ) {
    button.addEventListener("click", () => (list.hidden ? this.open() : this.close()));
    for (const element of [button, list])
      element.addEventListener("keydown", (event) => {
        if (event.key === "Escape" && !list.hidden) {
          this.close();
          button.focus();
          event.stopPropagation();
        } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
          this.step(event.key === "ArrowDown" ? 1 : -1);
          event.preventDefault();
          event.stopPropagation();
        }
      });
    list.addEventListener("focusout", (event) => {
      const to = event.relatedTarget as Node | null;
      if (to !== null && !list.contains(to) && to !== button) this.close();
    });
    document.addEventListener("pointerdown", (event) => {
      const target = event.target as Node;
      if (!list.contains(target) && !button.contains(target)) this.close();
    });
  }

  open(): void {
    this.list.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.entries()[0]?.focus();
  }

  close(): void {
    this.list.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
  }

  private entries(): HTMLElement[] {
    return [...this.list.querySelectorAll<HTMLElement>("a, button")].filter((entry) =>
      entry.checkVisibility(),
    );
  }

  private step(by: number): void {
    const entries = this.entries();
    const now = entries.indexOf(document.activeElement as HTMLElement);
    entries[(now + by + entries.length) % entries.length]?.focus();
  }
}
