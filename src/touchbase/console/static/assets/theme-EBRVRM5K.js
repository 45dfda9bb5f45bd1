"use strict";(()=>{var e=localStorage.getItem("touchbase-theme");(e==="light"||e==="dark")&&(document.documentElement.dataset.theme=e);})();
